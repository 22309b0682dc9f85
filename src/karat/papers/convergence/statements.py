"""Statements of "Convergence of Adversarial Training in Overparametrized Neural Networks"."""

from karat.study.statement import tabulate

STATEMENTS = tabulate(
    "convergence",
    """
eq1 | Eq 1 | 68 | definition
  Deep net f = <a, x_depth> with x_0 = A x, x_h = relu(W_h x_{h-1}), entries of A and W_h from N(0, 2/m), a
  from N(0, 1), and only the W_h trained.
def3.1 | Def 3.1 | 84 | definition
  A perturbation set B(x) is compatible with the data if closures that meet carry equal labels.
def3.1.caps | Def 3.1 | 84 | tight
  Caps of radius tau around unit vectors are compatible with their labels exactly if every two of different
  labels are more than twice the angle of a cap apart.
  origin: karat
  uses: convergence.def3.1
def3.2 | Def 3.2 | 88 | definition
  A perturbation function A(W, x) returns any point of B(x): the identity, a heuristic attack or the worst
  case.
def3.3 | Def 3.3 | 94 | definition
  Surrogate loss L_A(W) = mean_i loss(f(W, A(W, x_i)), y_i), the quantity adversarial training descends.
def3.4 | Def 3.4 | 104 | definition
  Robust loss L_*(W): the surrogate loss under the strongest perturbation function.
def3.4.largest | Def 3.4 | 104 | upper
  At every step of training, whatever the perturbation function of training is, none sees a larger loss than
  the robust loss.
  origin: karat
  uses: convergence.def3.4
thm4.1 | Thm 4.1 | 134 | upper
  Projected gradient descent in the per-layer ball of radius R/sqrt(m), m >= R^9 depth^16/tol^7, lr ~ tol/(m
  depth^2), reaches min_t L_A(W_t) <= min over the ball of L_* + tol for any attack A.
  uses: convergence.thm4.1.regret, convergence.thm4.1.distance, convergence.lemA.5, convergence.lemA.6
thm4.1.stronger | Thm 4.1 | 140 | qualitative
  The stronger the attack algorithm is during training, the stronger the guaranteed surrogate loss becomes.
  uses: convergence.thm5.1
thm4.1.radius | Thm 4.1 | 142 | existence
  The greater R is, the less L_*(W_*) is.
thm4.1.deep | Thm 4.1 | 134 | upper
  Nets of one to three hidden layers far below the theorem's width come within tol of the best linearised
  robust loss of their ball as well.
  origin: karat
  uses: convergence.thm4.1
thm4.1.regret | Thm 4.1 | 496 | upper
  Regret recursion of projected training: |W_{t+1} - W_*|^2 <= |W_t - W_*|^2 + 2 lr (L_*(W_*) - L_A(W_t)) +
  2 lr N_t + lr^2 |grad L_A|^2, N_t what convexity misses between W_t and W_* at the points of step t.
  uses: convergence.lemA.6
thm4.1.distance | Thm 4.1 | 517 | upper
  W_* lies within R/sqrt(m) of the start over all layers together, d_0^2 <= R^2/m, so that R^2/(m tol lr)
  steps suffice; W_* is here the best linearised displacement of the ball.
thm4.1.distance.repaired | Thm 4.1 | 517 | upper
  W_* lies within sqrt(depth) R/sqrt(m) of the start, d_0^2 <= depth R^2/m, so that the proof needs depth
  R^2/(m tol lr) steps, depth^3 R^2/tol^2 at the rate tol/(m depth^2); W_* as there.
  origin: karat
  supersedes: convergence.thm4.1.distance
lemA.1 | Lem A.1 | 359 | upper
  At the start |A| = O(1), every |W_h| = O(1) and |a| = O(sqrt(m)): by the theorem that the proof quotes
  |A| <= sqrt(2) (1 + sqrt(d/m)) + t sqrt(2/m), |W_h| <= 2 sqrt(2) + t sqrt(2/m) and |a| <= sqrt(m) + 1 + t,
  each with probability at least 1 - 2 exp(-t^2/2).
lemA.3 | Lem A.3 | 367 | upper
  At the start |a^T D_H W_H ... D_h W_h| = O(sqrt(m depth)) at a unit input.
  uses: convergence.lemA.1
lemA.2 | Lem A.2 | 363 | tight
  At the start every layer x^(h) and every preactivation has length in [2/3, 4/3] for a unit input, with A
  from N(0, 2/m) as printed.
lemA.2.repaired | Lem A.2 | 363 | tight
  With A from N(0, 1/m) every layer has length in [2/3, 4/3], and every preactivation sqrt(2) times such a
  length: W_h from N(0, 2/m) makes it so whatever A is.
  origin: karat
  supersedes: convergence.lemA.2
lemA.4 | Lem A.4 | 379 | tight
  A shift of the input equals a rank-one change of W_1 of length O(|x - x'|): all layers of both nets agree.
  uses: convergence.lemA.2
eq10 | Eq 10 | 413 | upper
  At most O(depth (R/sqrt(m))^(2/3)) of the activation signs change within the ball, so m^(-1/3) in the width.
  uses: convergence.lemA.4
eq10.tight | Eq 10 | 413 | tight
  With one hidden layer the worst weights of the ball change the share (3/pi)^(1/3) (R/sqrt(m))^(2/3) of the
  signs as m grows: neither exponent of the print can be improved.
  origin: karat
  uses: convergence.eq10
lemA.5 | Lem A.5 | 397 | upper
  Within the ball the gradient of the output in W_h changes by O((R/sqrt(m))^(1/3) depth^2 sqrt(m log m)).
  uses: convergence.lemA.1, convergence.lemA.3, convergence.eq10
lemA.5.tight | Lem A.5 | 397 | tight
  With one hidden layer the worst weights of the ball change the gradient by (192/pi^2)^(1/6) (R m)^(1/3) as m
  grows: without the root of log m, and with no better exponent.
  origin: karat
  uses: convergence.lemA.5
lemA.6 | Lem A.6 | 458 | upper
  Between any two nets of the ball the loss lies above its tangent less |W_2 - W_1| O((m R)^(1/3) depth^(5/2)
  sqrt(log m)), so less O(R^(4/3) m^(-1/6) depth^(5/2) sqrt(log m)): it is nearly convex.
  uses: convergence.lemA.5
lemA.6.tight | Lem A.6 | 458 | tight
  With one hidden layer the worst two nets of the ball miss convexity by (4/pi)^(1/3) 3^(1/6) (1 + sqrt(3)/2)
  R^(4/3) m^(-1/6) as m grows.
  origin: karat
  uses: convergence.lemA.6
thm5.1 | Thm 5.1 | 180 | upper
  Two-layer nets with a smooth activation and m >= R^4/tol^2 reach the same bound with lr ~ tol and
  sqrt(m)/lr steps, without a projection.
  uses: convergence.thm5.1.regret, convergence.thm5.1.gap, convergence.thm5.1.exit
thm5.1.attacks | Thm 5.1 | 180 | upper
  The bound of Theorem 5.1 holds for every perturbation function alike: identity, one-step, random,
  discontinuous and worst.
  origin: karat
  uses: convergence.thm5.1, convergence.def3.2
thm5.1.regret | Eq 16 | 551 | upper
  Regret recursion of unprojected training: |W_t - W_*|^2 <= (1 + c lr/sqrt(m)) |W_{t-1} - W_*|^2 + 2 lr
  (L_*(W_*) - L_A(W_{t-1})) + O(lr^2).
thm5.1.gap | Eq 17 | 567 | upper
  Summed, the recursion bounds the gap: min_{t<T} L_A(W_t) - L_*(W_*) <= O(lr) + c R^2/(sqrt(m) (1 - (1 + c
  lr/sqrt(m))^-T)), which falls like R^2/(lr T) and then like R^2/sqrt(m).
  uses: convergence.thm5.1.regret
thm5.1.exit | App B | 543 | qualitative
  Unprojected training for sqrt(m)/(c lr) steps either stays within 3R of its start or leaves, and either way
  it has met L_*(W_*) + tol inside.
  uses: convergence.thm5.1.gap
def5.1 | Def 5.1 | 190 | definition
  Neural tangent kernel K(x, x') = <x, x'> E[act'(<w, x>) act'(<w, x'>)] with w from N(0, I).
def5.1.closed | Def 5.1 | 190 | tight
  The expectation of the tangent kernel has the closed forms that karat uses for the ReLU, smoothed and
  quadratic ReLU.
  origin: karat
  uses: convergence.def5.1
asm5.2 | Asm 5.2 | 200 | existence
  The kernel's function space holds an f with |f(x') - y_i| <= tol for every i and every x' in B(x_i).
thm5.2 | Thm 5.2 | 208 | existence
  For m >= R^4/tol^2 a net with robust training loss L_* <= tol lies within R of the initialisation, R
  depending on data, perturbation set and tol only.
  uses: convergence.asm5.2, convergence.propC.1, convergence.thm5.2.built
thm5.2.radius | Thm 5.2 | 208 | upper
  The smallest ball around the start that holds a net of robust loss tol does not grow with the width.
  origin: karat
  uses: convergence.thm5.2
cor5.1 | Cor 5.1 | 214 | existence
  Adversarial training with lr ~ tol for R^2/(tol lr) steps on m >= R^4/tol^2 neurons reaches min_t L_A <=
  tol.
  uses: convergence.thm5.1, convergence.thm5.2
thm5.2.built | Thm 5.2 | 655 | existence
  The robust net of the proof, w_i = w_i0 + a_i sqrt(m/4) c_i and its mirrored twin, built from a kernel
  function g: sup |f - g| <= C |g|^2/(2 sqrt(m)) + C |g| (2 sqrt(d) + ...)/sqrt(m/2) (the text prints no a_i
  and 4 for 2).
  uses: convergence.propC.1
propC.1 | Prop C.1 | 593 | upper
  M random features approximate g uniformly to C |g| (2 sqrt(d) + sqrt(2 log(1/p_fail)))/sqrt(M).
appC.2 | App C.2 | 748 | existence
  With the quadratic ReLU on the sphere of radius sqrt(d), width ~ tol^-(d+1) log(1/tol) and sqrt(m)/lr
  steps give min_t L_A <= tol on every data set whose caps of different labels are apart up to sign, antipodes
  of equal labels included.
  uses: convergence.thm5.1, convergence.thmC.1, convergence.lemC.3
  contradicts: convergence.parity.floor
appC.2.repaired | App C.2 | 748 | existence
  The same on every data set whose caps of different labels are apart, and whose caps of equal labels are
  apart from each other's mirror images: antipodes of different labels are included, of equal ones excluded.
  origin: karat
  uses: convergence.thmC.1, convergence.fn14.repaired
  supersedes: convergence.appC.2
thmC.1 | Thm C.1 | 698 | upper
  M ~ tol^-(d+1) log(tol^-(d+1)/p_fail) random features of the quadratic ReLU, rows on the sphere of radius
  sqrt(d), hold for a Lipschitz h of the kernel's space a sum with sup |h - h_M| <= tol and M sum |c_r|^2
  bounded.
lemC.3 | Lem C.3 | 744 | existence
  The kernel's space of the quadratic ReLU holds every smooth even function, so every even degree.
fn14 | Fn 14 | 718 | qualitative
  The kernel of the quadratic ReLU contains only even functions beyond low degrees.
fn14.repaired | Fn 14 | 718 | qualitative
  The kernel of the quadratic ReLU contains the degrees 0 and 2 and every odd degree, and no other.
  origin: karat
  supersedes: convergence.fn14, convergence.lemC.3
rem5.1 | Rem 5.1 | 218 | definition
  Assumption 5.2 can be verified for a large class of activations by showing that their kernel is universal.
rem5.1.centred | Rem 5.1 | 218 | lower
  The ReLU and its smoothings with the kink at 0 are no examples of that class: on compatible antipodes of
  different labels every function of their kernels' spaces is farther than tol = 0.2 from some label.
  origin: karat
  uses: convergence.parity
rem5.1.apart | Rem 5.1 | 218 | existence
  The smoothed ReLU's space holds for every tol a function that is within tol of the labels where caps of
  different labels are apart up to sign.
  origin: karat
  uses: convergence.asm5.2
parity | Fn 14 | 718 | tight
  Of a two-layer net without biases, whatever its width and weights, the even part is a quadratic form if the
  activation is the quadratic ReLU, and the odd part is linear if it is the ReLU, a smoothed ReLU, softplus or
  smooth leaky ReLU.
  origin: karat
parity.floor | Cor C.1 | 748 | lower
  So antipodes of equal labels cost every quadratic-ReLU net, and antipodes of opposite labels every net of
  the ReLU family, at least the smallest loss of a form with d (d + 1)/2 or d coefficients, at every width.
  origin: karat
  uses: convergence.parity
thm6.1 | Thm 6.1 | 252 | lower
  A class that robustly interpolates any n points more than 2 tau apart has VC dimension >= floor(n/2) d (it
  shatters floor(n/2) clusters of d points).
  uses: convergence.appD.constant
  supersedes: convergence.thm6.1.ceil
thm6.1.ceil | App D | 754 | lower
  The same with ceil(n/2) d points, as the proof opens, so for a single point too.
thm6.1.tight | Thm 6.1 | 252 | tight
  Halfspaces interpolate any two points more than 2 tau apart robustly, and have VC dimension d + 1: at n = 2
  the bound floor(n/2) d is one less.
  origin: karat
  uses: convergence.thm6.1
appD.constant | App D | 766 | existence
  Every labelling of a cluster is separated by balls of radius tau when its offset is below tau max(1/gamma_1,
  ..., 1): the printed maximum, read literally.
def6.1 | Def 6.1 | 230 | definition
  An n-interpolation class gives any labels to any n points more than 2 tau apart.
def6.2 | Def 6.2 | 234 | definition
  An n-robust interpolation class gives any labels to the balls of radius tau around any n such points.
eq7 | Eq 7 | 242 | definition
  A class of four-layer nets with O(n) parameters, cited, interpolates any n points, and its VC dimension is
  O(n log n).
eq7.line | Eq 7 | 242 | existence
  Two-layer ReLU nets with 2 n + d parameters, O(n) for d <= n, give any labels to any n points, with kinks
  along one direction.
  origin: karat
  uses: convergence.def6.1
thm6.1.pairs | Thm 6.1 | 252 | existence
  On n/2 pairs of nearly touching balls, turned by any labelling of the proof's clusters, a two-layer ReLU net
  of width n - 1 interpolates robustly in every dimension.
  origin: karat
  uses: convergence.thm6.1, convergence.def6.2
thm6.1.capacity | Sec 6 | 258 | lower
  For d >= 12 log_2 n and n >= 4 d robust interpolation of these pairs takes two-layer ReLU nets of more width
  than the 3 ceil(n/(2 d)) with which they interpolate middles in general position, at most d times as much.
  origin: karat
  uses: convergence.thm6.1, convergence.thm6.1.pairs, convergence.def6.1
sec7.free | Sec 7 | 264 | upper
  Deep nets far below the theorem's width reach its bound without the projection, as the paper conjectures.
  origin: karat
  uses: convergence.thm4.1
sec7.transfer | Sec 7 | 266 | qualitative
  The guarantee is about the perturbation function of training alone: trained against a weaker one than the
  strongest, a net has a larger loss under others.
  origin: karat
  uses: convergence.thm5.1
vs-lazy | Eq 4 | 164 | qualitative
  Paired initialisation makes grad_x f = 0 at the start and removes the ~ sqrt(d/2) gradient on which the lazy
  theorem rests, so that the smallest flip radius of the most robust net of the lazy ball stays constant
  instead of ~ 1/sqrt(d).
  origin: karat
vs-lazy.exists | Thm 5.2 | 208 | existence
  Convergence's side: in the paired ball around the start, however small C0, there is a net that no
  perturbation
  within tau breaks on any training point.
  origin: karat
  uses: convergence.thm5.2
vs-lazy.loss | Cor 5.1 | 214 | existence
  In the paired ball, m >= C0^4, there is a net whose loss under the attack is at most that of the kernel
  function scaled into the ball, log(1 + exp(-C0/|g|)).
  origin: karat
  uses: convergence.thm5.2
vs-lazy.none | Eq 4 | 164 | lower
  Lazy's side: no net of the unpaired ball with C0 < tau sqrt(2 d) is robust on all training points; the best
  robust loss of every such net is certified to exceed log 2.
  origin: karat
  uses: lazy.cor3.2
""",
)

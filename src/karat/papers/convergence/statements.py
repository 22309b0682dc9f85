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
def3.2 | Def 3.2 | 88 | definition
  A perturbation function A(W, x) returns any point of B(x): the identity, a heuristic attack or the worst
  case.
def3.3 | Def 3.3 | 94 | definition
  Surrogate loss L_A(W) = mean_i loss(f(W, A(W, x_i)), y_i), the quantity adversarial training descends.
def3.4 | Def 3.4 | 104 | definition
  Robust loss L_*(W): the surrogate loss under the strongest perturbation function.
thm4.1 | Thm 4.1 | 134 | upper
  Projected gradient descent in the per-layer ball of radius R/sqrt(m), m >= R^9 depth^16/tol^7, lr ~ tol/(m
  depth^2), reaches min_t L_A(W_t) <= min over the ball of L_* + tol for any attack A.
lemA.2 | Lem A.2 | 363 | tight
  At the start every layer has length in [2/3, 4/3] for a unit input.
lemA.4 | Lem A.4 | 379 | tight
  A shift of the input equals a rank-one change of W_1: outputs of the two nets agree.
eq10 | Eq 10 | 413 | upper
  At most O(depth (R/sqrt(m))^(2/3)) of the activation signs change within the ball, so m^(-1/3) in the width.
thm5.1 | Thm 5.1 | 180 | upper
  Two-layer nets with a smooth activation and m >= R^4/tol^2 reach the same bound with lr ~ tol and
  sqrt(m)/lr steps, without a projection.
thm5.1.regret | Eq 16 | 551 | upper
  Regret recursion of unprojected training: |W_t - W_*|^2 <= (1 + c lr/sqrt(m)) |W_{t-1} - W_*|^2 + 2 lr
  (L_*(W_*) - L_A(W_{t-1})) + O(lr^2).
thm5.1.gap | Eq 17 | 567 | upper
  Summed, the recursion bounds the gap: min_{t<T} L_A(W_t) - L_*(W_*) <= O(lr) + c R^2/(sqrt(m) (1 - (1 + c
  lr/sqrt(m))^-T)), which falls like R^2/(lr T) and then like R^2/sqrt(m).
thm5.1.exit | App B | 543 | qualitative
  Unprojected training either stays within 3R of its start or has met the target loss before it leaves.
def5.1 | Def 5.1 | 190 | definition
  Neural tangent kernel K(x, x') = <x, x'> E[act'(<w, x>) act'(<w, x'>)] with w from N(0, I).
asm5.2 | Asm 5.2 | 200 | existence
  The kernel's function space holds an f with |f(x') - y_i| <= tol for every i and every x' in B(x_i).
thm5.2 | Thm 5.2 | 208 | existence
  For m >= R^4/tol^2 a net with robust training loss L_* <= tol lies within R of the initialisation, R
  depending on data, perturbation set and tol only.
cor5.1 | Cor 5.1 | 214 | existence
  Adversarial training with lr ~ tol for R^2/(tol lr) steps on m >= R^4/tol^2 neurons reaches min_t L_A <=
  tol.
thm5.2.built | Thm 5.2 | 655 | existence
  The robust net of the proof, w_i = w_i0 + a_i sqrt(m/4) c_i and its mirrored twin, built from a kernel
  function g: sup |f - g| <= C |g|^2/(4 sqrt(m)) + C |g| (2 sqrt(d) + ...)/sqrt(m/2), robust loss certified.
propC.1 | Prop C.1 | 593 | upper
  M random features approximate g uniformly to C |g| (2 sqrt(d) + sqrt(2 log(1/p_fail)))/sqrt(M).
appC.2 | App C.2 | 748 | existence
  With the quadratic ReLU on the sphere of radius sqrt(d), width ~ tol^-(d+1) log(1/tol) and sqrt(m)/lr
  steps give min_t L_A <= tol without assuming a robust classifier in the kernel's space.
fn14 | Fn 14 | 697 | qualitative
  The kernel of the quadratic ReLU contains only even functions beyond low degrees; lifting x to [x, 1] helps.
thm6.1 | Thm 6.1 | 252 | lower
  A class that robustly interpolates any n points more than 2 tau apart has VC dimension >= ceil(n/2) d (it
  shatters ceil(n/2) clusters of d points), against O(n log n) for ordinary interpolation.
appD.constant | App D | 766 | existence
  Every labelling of a cluster is separated by balls of radius tau when its offset is below tau max(1/gamma_1,
  ..., 1), as printed; the proof needs the minimum.
thm6.1.capacity | Sec 6 | 258 | rate
  Robust interpolation by small nets needs ~ n d parameters, ordinary interpolation ~ n whatever d is.
vs-lazy | Eq 4 | 164 | qualitative
  Does a robust net exist in the lazy ball? Paired initialisation makes grad_x f = 0 at the start and
  removes the ~ sqrt(d/2) gradient on which the lazy theorem rests, so that the smallest flip radius stays
  constant instead of ~ 1/sqrt(d).
vs-lazy.exists | Thm 5.2 | 208 | existence
  Convergence's side: in the paired ball around the start, however small C0, there is a net that is robust on
  all training points, and its loss is at most that of the scaled kernel function, log(1 + exp(-C0/|g|)).
vs-lazy.none | Eq 4 | 164 | lower
  Lazy's side: no net of the unpaired ball with C0 < tau sqrt(2 d) is robust on all training points; the best
  robust loss of every such net is certified to exceed log 2.
""",
)

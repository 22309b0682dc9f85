"""Statements of "Feature Purification: How Adversarial Training Performs Robust Deep Learning"."""

from karat.study.statement import tabulate

STATEMENTS = tabulate(
    "purification",
    """
model | Asm 2.1 | 136 | definition
  Sparse coding x = M z + xi with independent symmetric z_i, |z_i| in {0} or [1/sqrt(k), 1], E z_i^2 ~ 1/d,
  y = sign<w_star, z>, and Gaussian plus spike noise xi = xi' + M xi''.
fact2.2 | Fact 2.2 | 142 | rate
  The number of non-zero codes |z|_0 is of order k with high probability.
sec3.linear | Sec 3 | 175 | rate
  The linear classifier <w_star, M^T x> loses its clean accuracy once sigma_x ~ 1 and tolerates no l2
  perturbation beyond ~ 1/sqrt(d), not even at sigma_x = 0.
sec3.threshold | Sec 3 | 191 | upper
  The thresholded oracle sum_i w_star_i <M_i, x> 1[|<M_i, x>| >= 1/(2 sqrt(k))] keeps robust accuracy 1 -
  o(1) against every l2 perturbation of size o(1/sqrt(k)).
  uses: purification.fact2.2
sec3.optimal | Sec 3 | 193 | lower
  The radius o(1/sqrt(k)) is information-theoretically optimal: at radius C/sqrt(k) every classifier has an
  error that does not vanish.
sec3.linear.any | Sec 3 | 189 | upper
  No linear classifier is robust to l2 perturbations of size Theta(1/sqrt(d)).
fig3 | Fig 3 | 187 | qualitative
  A linear unit passes small dense signals on, a ReLU with bias zeroes them.
net | Sec 4 | 222 | definition
  Odd two-layer net f = sum_i [relu(<w_i, x> - b + rho_i) - relu(-<w_i, x> - b + rho_i)], logistic loss and
  regulariser |w|^2/2 + |w|^3/3 with weight logloglog(d)/d.
alg1 | Alg 1 | 269 | algorithm
  Clean training: gradient descent with fresh neuron noise rho each step while the bias grows by lr c_b/d
  until it reaches k^-0.5001.
alg1.asleep | Alg 1 | 269 | qualitative
  At d = 50, k = 7 the algorithm as printed puts every neuron to sleep: the bias k^-0.5001 and lambda =
  logloglog(d)/d do it together, neither alone, for lambda d exceeds what a winner can bear, half the rate of
  large codes over b (1 + b).
  origin: karat
alg2 | Alg 2 | 280 | algorithm
  Adversarial training from the clean net: perturb with the current net, draw rho, take a gradient step; the
  bias stays fixed.
def4.2 | Def 4.2 | 299 | definition
  Fast gradient method: delta minimises <y grad f, delta> over the l_p ball of radius tau and is 0 where the
  dual norm of the gradient is below 1/poly(d).
sec1.principle | Sec 1 | 83 | qualitative
  Feature purification in angles, with c = o(1) and C = 1 - o(1): theta(w0, w) <= c, theta(w, w') >= C and
  theta(w_i, w_j) <= c for most neurons and pairs.
  uses: purification.thm5.1a, purification.thm5.3c
sec4.slope | Sec 4 | 247 | lower
  The mean slope of the loss bounds the clean error: E[loss'] >= Omega(P[y != sign(f)]), with constant 1/2.
thm5.1a | Thm 5.1(a) | 329 | qualitative
  Clean training leaves initialisation and spreads out: sum<w, w0>^2/sum|w|^2|w0|^2 = o(1) and sum_ij<w_i,
  w_j>^2/(sum|w|^2)^2 = o(1).
  uses: purification.thmC.2
thm5.1b | Thm 5.1(b) | 333 | qualitative
  After clean training for T_c ~ d^1.01/lr steps the clean error is o(1).
  uses: purification.thmC.2, purification.lemH.1
thm5.1c | Thm 5.1(c) | 337 | qualitative
  The clean net errs on a share 1 - o(1) of the inputs moved by -tau y M w_star/|M w_star|_2, a direction
  that does not depend on the net, for every tau >= k^-(0.5 + 10c).
  uses: purification.lemE.2
thm5.1c.time | Thm 5.1(c) | 337 | qualitative
  The clean net errs on a share 1 - o(1) of the inputs moved along -y M w_star at every time t in [T_c, T_f],
  however long clean training lasts.
  uses: purification.lemE.2
thm5.2 | Thm 5.2 | 347 | rate
  Every clean-trained neuron is |N_i| = O(1) pure features plus a mixture sum_j beta_ij w_star_j M_j whose
  mean coefficient over all m d pairs is k/d up to d^(+-c), with |beta_ij| < k/d^(1-c) and |N_i| = 1 for
  Omega(d) neurons.
  uses: purification.thmC.2, purification.lemE.2
thm5.2.hubs | Thm 5.2 | 347 | qualitative
  Neurons of very many features, for which the theorem leaves no room: a row gamma M w_star wakes itself, and
  outgrows the threshold b exactly from that gamma sqrt(E<w_star, z>^2)/b on at which half of
  E[|<w_star, z>|; awake]/gamma is the relative speed of b; b itself drops out. Smaller rows stay asleep.
  origin: karat
thm5.3a | Thm 5.3(a) | 382 | qualitative
  After T_g ~ k^(2+c)/lr steps of adversarial training at tau <= k^-(0.5+c) the error under the training
  attack is o(1), whatever the attack.
  uses: purification.thmC.2
thm5.3b | Thm 5.3(b) | 386 | qualitative
  Trained against FGM the net is provably robust: the error under the worst l2 perturbation of size tau is
  o(1).
  uses: purification.thm5.3a, purification.eqF.17
thm5.3c | Thm 5.3(c) | 390 | qualitative
  Adversarial training moves the weights only locally: sum_i |w_i - w_i'|^2 = o(1) sum_i |w_i|^2 at every
  step.
  uses: purification.thmC.2
thm5.4 | Thm 5.4 | 409 | qualitative
  l_inf version for M with row and column sums d^o(1): the clean net falls at radius k^-(2-c1), the
  adversarially trained one holds at k^-(1.75+2 c0).
  uses: purification.thm5.1c, purification.thm5.3b
thm5.6 | Thm 5.6 | 434 | lower
  With M = I and sigma_x = 0 every NTK predictor with m <= d^C neurons has l_inf robust error >= (1 -
  o(1))/2 already at radius k^-100 (the text prints k^-1.00).
thm5.6.scaled | Thm 5.6 | 434 | qualitative
  Trained to the optimum of its convex problem, the tangent kernel with random gates reaches the robust error
  one half at less than half the l_inf radius of the net that is trained from pure features.
  origin: karat
cor5.7 | Cor 5.7 | 442 | lower
  Every polynomial of constant degree has l_inf robust error >= (1 - o(1))/2 in the setting of Theorem 5.6.
  uses: purification.thm5.6
eqF.17 | Eq F.17 | 2496 | upper
  On the purified net sup over the tau-ball of |E_rho f(x + delta) - E_rho f(x) - <grad E_rho f(x), delta>|
  is O(1/log d) for most x, so FGM is near-optimal there.
  uses: purification.lemF.11
thmD.1 | Thm D.1 | 1660 | qualitative
  The objective (loss and regulariser), averaged over the steps of clean training from T_e on, is o(1).
  uses: purification.thmC.2, purification.lemH.1
thmE.1 | Thm E.1 | 1881 | qualitative
  For k > d^((1 - c0)/3) the clean net is right on a share e^-Omega(log^2 d) of the inputs moved by -y
  Xi2^10 M w_star/k^2.
  uses: purification.lemE.2, purification.thmC.2
thmF.1 | Thm F.1 | 2011 | qualitative
  Over l2 adversarial training at tau = 1/(sqrt(k) d^c0) the objective under attack exceeds the clean
  net's by o(1) on average.
  uses: purification.thmD.1, purification.lemF.11, purification.lemF.12, purification.lemF.15.repaired
corF.2 | Cor F.2 | 2019 | qualitative
  Where the objective under FGM is small, the error under the worst l2 perturbation of size tau is o(1).
  uses: purification.thmF.1, purification.eqF.17
corF.3 | Cor F.3 | 2027 | qualitative
  For k in [d^0.3334, d^0.3999] adversarial training provably beats clean training in l2 robust accuracy.
  uses: purification.corF.2, purification.thmE.1
thmF.4 | Thm F.4 | 2033 | qualitative
  Over l_inf adversarial training at tau = 1/(k^1.75 |M|_inf d^c0) the objective under attack exceeds the
  clean net's by o(1) on average.
  uses: purification.thmD.1, purification.lemF.13, purification.lemF.14, purification.lemF.16.repaired
corF.5 | Cor F.5 | 2041 | qualitative
  Where the objective under FGM is small, the error under the worst l_inf perturbation of size tau is o(1).
  uses: purification.thmF.4
corF.6 | Cor F.6 | 2049 | qualitative
  For k in [d^0.3334, d^0.3999] adversarial training provably beats clean training in l_inf robust accuracy.
  uses: purification.corF.5, purification.thmE.1
eqF.13 | Eq F.13 | 2411 | upper
  At every step of adversarial training the part of a neuron beside its features is at most one,
  max_i |v_i|_2 <= 1, and sum_i |v_i|^2 <= r^2 m with r of order k/sqrt(d) (F.12).
  uses: purification.lemF.15.repaired
claimE.3 | Claim E.3 | 1901 | lower
  One step changes <w_i, M w_star> by at least -lr lambda (1 + |w_i|) <w_i, M w_star> + lr E[loss' 1[<w_i, x>
  + rho_i >= b] |<w_star, z>|] - O(lr k^2 sigma_x^2/d^1.5); without input noise exactly, for any net.
lemE.2 | Lem E.2 | 1891 | lower
  Late in clean training <w_i, M w_star> >= -O(k^3 sigma_x^2/(lambda d^2)), up to d^c, for every neuron, and
  its sum over the sure winners is at least of order k d/d^c.
  uses: purification.claimE.3
lemE.2.zero | Lem E.2 | 1891 | lower
  The second half without input noise, from a random start: <w_i, M w_star> >= 0 for every i in [m].
lemE.2.start | Lem E.2 | 1891 | lower
  Without input noise <w_i, M w_star> never falls below the smaller of 0 and its value at the start, and a
  neuron that sleeps keeps the sign of its start.
  origin: karat
  uses: purification.claimE.3
  supersedes: purification.lemE.2.zero
  contradicts: purification.lemE.2.zero
sec6.kinetics | Sec 6.1 | 466 | rate
  In the lottery phase winners grow linearly at rate ~ lr/d and the other coordinates slower by ~ k
  log(d)/d.
  uses: purification.lemC.8, purification.lemC.10
sec6.chance | Sec 6.1 | 450 | qualitative
  Clean accuracy stays around 50% until the lottery is decided, t <= T_b ~ d^2 init_scale/(k lr).
sec6.flat | Sec 6.1 | 450 | qualitative
  Until the lottery is decided the loss is not minimised yet: loss' = 1/2 up to 1/poly(d) on every input, for
  t <= T_b, even where the sign of the output is right.
  origin: karat
  supersedes: purification.sec6.chance
lemC.4a | Lem C.4(a) | 815 | upper
  Pre-activation size: for a neuron in S_ept, <w_i, x> without one feature exceeds lambda sigma_w with
  probability exp(-Omega(lambda/log(d)^(1/4))) + exp(-log(d)^(1/4)) at most.
lemC.4b | Lem C.4(b) | 815 | upper
  Pre-activation size: for a neuron in S_ept+, <w_i, x> without one feature exceeds lambda sigma_w with
  probability exp(-Omega(lambda log d)) + exp(-Omega(lambda^2 log d)) + O(k/d) at most.
lemC.7 | Lem C.7 | 970 | upper
  Activation probability: once S_ept+ = [m], |<w_i, x>| and the noise exceed a small share of b with
  probability Gamma_t = O(k/d) only.
  uses: purification.lemC.4b
lemC.8 | Lem C.8 | 1012 | rate
  Signal growth: for a sure winner i of feature j, E[y 1[<w_i, x> + rho_i >= b] z_j] is of order 1/d.
lemC.9 | Lem C.9 | 1068 | upper
  Maximum growth: no coordinate <w_i, M_j> grows faster than O(lr/d) per step.
  uses: purification.lemC.8
lemC.10 | Lem C.10 | 1076 | upper
  Non-signal growth: a coordinate that is not a potential winner grows slower by the activation probability
  times a power of log d.
  uses: purification.lemC.7
lemC.11 | Lem C.11 | 1092 | upper
  Noise growth: input noise moves a coordinate by |E[y 1[<w_i, x> + rho_i >= b] <xi, M_j>]| = O(Gamma_t
  sigma_x^2 |<w_i, M_j>|/(d sigma_rho)) at most.
  uses: purification.lemC.7
lemC.18 | Lem C.18 | 1374 | tight
  All winners of feature j grow at the same rate E[y loss' z_j], up to O(k^1.5/d^2).
lemC.19 | Lem C.19 | 1393 | upper
  Once every neuron is nearly a singleton, at most O(k) neurons (up to d^c) have |<w_i, x>| >= b/10 on an
  input, and without potential winners' features no neuron has.
lemH.1 | Lem H.1 | 2804 | lower
  Small balls: for every subset Lambda of the codes and every r, P(|sum_Lambda w_star_j z_j - r| <= t) is
  O(t + 1/sqrt(k)) sqrt(d/|Lambda|); with r = 0 and |Lambda| of order d it is at least Omega(t) -
  O(log(k)/sqrt(k)).
lemH.2 | Lem H.2 | 2842 | lower
  McDiarmid's inequality as printed: P(f - E f >= t) >= exp(-2 t^2/sum c_i^2) and P(f - E f <= -t) >= exp(2
  t^2/sum c_i^2).
lemH.2.repaired | Lem H.2 | 2842 | upper
  McDiarmid's inequality: either tail is at most exp(-2 t^2/sum c_i^2).
  origin: karat
  contradicts: purification.lemH.2
  supersedes: purification.lemH.2
lemH.3 | Lem H.3 | 2852 | upper
  McDiarmid's extension as printed: P(|f - E[f | w_1]| >= t) <= O(N sqrt(p)) + exp(-Omega(t^2)/(t (c + sqrt(p)
  B) + sum (V_k^2 + sqrt(p) B^2)^2)).
  uses: purification.lemH.4
lemH.3.repaired | Lem H.3 | 2852 | upper
  McDiarmid's extension at p = 0 without the square on V_k^2: P(|f - E[f | w_1]| >= t) <= 2 exp(-t^2/(4 (t c +
  sum V_k^2))).
  origin: karat
  uses: purification.lemH.4.repaired
  contradicts: purification.lemH.3
  supersedes: purification.lemH.3
lemH.4 | Lem H.4 | 2934 | upper
  One-sided Bernstein bound as printed, for submartingales with E[X_t | X_(t-1)] <= X_t: P(X_N > t) <=
  exp(-Omega(t^2/(t c + sum V_t^2))).
lemH.4.repaired | Lem H.4 | 2934 | upper
  One-sided Bernstein bound for supermartingales, E[X_t | X_(t-1)] <= X_(t-1): P(X_N > t) <= exp(-t^2/(4 (t c
  + sum V_t^2))).
  origin: karat
  contradicts: purification.lemH.4
  supersedes: purification.lemH.4
lemB.2 | Lem B.2 | 718 | qualitative
  Lottery at initialisation: every feature has at least d^(gamma c0/4) sure winners (the text prints d^(7
  c0/4)) and at most d^(2 gamma c0) potential winners, and every neuron leans on O(1) features only.
lemB.2.size | Lem B.2 | 718 | tight
  The number of sure winners that a feature expects falls with d before it grows: 4 log d of them, which all
  features having one takes, are first expected at d ~ 10^96 for c0 = 1 and gamma = 0.1, and later for all
  other constants that the lemma allows.
  origin: karat
thmC.1 | Thm C.1 | 778 | qualitative
  Phase I, t <= T_b: sure winners stay sure, no neuron becomes a potential winner later, every neuron has O(1)
  potential coordinates, and from T_a on the others are below sigma_w/log(d); at T_b all neurons are short.
  uses: purification.lemB.2, purification.lemC.8, purification.lemC.9, purification.lemC.10
thmC.2 | Thm C.2 | 790 | qualitative
  Phase II, t >= T_b: sure winners stay sure, potential winners are old ones, every neuron is short and small
  outside O(1) coordinates, for d^O(log d)/lr steps; from T_e ~ d/lr (up to d^c) on sure winners exceed 2
  sqrt(k) b.
  uses: purification.thmC.1, purification.lemC.18, purification.lemC.19
eq5.1 | Eq 5.1 | 359 | rate
  The mixture law: a clean-trained neuron of one feature is Theta(1) M_j plus Theta(k/d) w_star_j' M_j' for
  every other feature, from pure features too.
  uses: purification.thm5.2
sec5.purify | Sec 5.1 | 361 | qualitative
  Feature purification: clean training leaves a small dense mixture that makes the net fragile, adversarial
  training removes it and robustness returns.
  uses: purification.thm5.2, purification.thm5.3b, purification.thm5.3c
sec5.purify.hubs | Sec 5.1 | 361 | qualitative
  With more codes than Assumption 2.1 allows, k > d^0.499, clean nets are fragile, but by a few hubs and not
  by the mixture of all others: deleting the hubs wins most of the robustness that adversarial training wins,
  taking the mixture out of every other neuron little.
  origin: karat
  uses: purification.thm5.2.hubs
sec5.density | Sec 5.1 | 398 | qualitative
  Adversarial perturbations are dense in the dictionary before adversarial training and sparse after it.
sec6.one-each | Sec 6.1 | 468 | lower
  With m = d^1.001 neurons every feature has at least one surely lucky neuron and at most d^0.01 potentially
  lucky ones.
sec6.one-each.repaired | Sec 6.1 | 468 | lower
  With m = d^1.0125 neurons every feature has at least one surely lucky neuron and at most d^0.01 potentially
  lucky ones, for d large enough; with m <= d^1.01 not even one is expected.
  origin: karat
  contradicts: purification.sec6.one-each
  supersedes: purification.sec6.one-each
sec6.tickets | Sec 6.1 | 456 | qualitative
  At initialisation most neurons have no coefficient above sqrt(2 log d) init_scale, a share d^-c3 has exactly
  one slightly larger, and at most a share d^-c4 has any.
sec6.lottery | Sec 6.1 | 464 | qualitative
  Lottery: a neuron whose start leans slightly more on one feature ends on that feature and keeps it.
  uses: purification.thmC.1, purification.thmC.2
eq6.2 | Eq 6.2 | 491 | rate
  A mixture v_i is nearly blind to natural inputs, |<v_i, x>| <= O(k/d |x|) up to logarithms, but sees the
  dense direction, |<v_i, delta>| = Omega(k/sqrt(d) |delta|): at least sqrt(d) more, up to logarithms.
  uses: purification.eq5.1
sec6.universal | Sec 6.2 | 499 | qualitative
  One small dense perturbation direction, -y M w_star, which depends on no net, changes the output of every
  clean-trained net by a lot.
  uses: purification.eq6.2, purification.thm5.1c
sec6.transfer | Sec 6.2 | 499 | qualitative
  A perturbation found on one clean net fools independently trained ones, because the dense direction does
  not depend on the initialisation.
  uses: purification.sec6.universal
sec6.pureinit | Sec 6.2 | 515 | qualitative
  Started at the pure features w_i = M_i, clean training still accumulates dense mixtures.
fig9.random | Fig 9 | 319 | qualitative
  Adversarial training from random weights never builds the dense mixture that clean training builds and
  adversarial training then removes.
thm5.3a.weak | Thm 5.3(a) | 394 | qualitative
  Weak attackers purify too: local feature purification happens whatever perturbation algorithm training
  uses.
  uses: purification.thm5.3a
fig1 | Fig 1 | 52 | qualitative
  First-layer AlexNet filters on CIFAR-10 look purer after adversarial than after clean training.
factA.1 | Fact A.1 | 680 | tight
  The gradient of the loss in w_i is -y loss' (1[<w_i, x> + rho_i >= b] + 1[-<w_i, x> + rho_i >= b]) x.
lemA.2 | Lem A.2 | 690 | rate
  Gradients on N points are those of the population up to 1/poly(d), for weights that depend on the points,
  too, and so are those with one draw of rho per point: both errors fall like N^-1/2.
def5.5 | Def 5.5 | 420 | tight
  The feature map of the net's tangent kernel is x E(1[<w_i, x> + rho_i >= b] - 1[-<w_i, x> + rho_i >= b]).
def5.5.repaired | Def 5.5 | 420 | tight
  The feature map of the net's tangent kernel is x E(1[<w_i, x> + rho_i >= b] + 1[-<w_i, x> + rho_i >= b]).
  origin: karat
  uses: purification.factA.1
  contradicts: purification.def5.5
  supersedes: purification.def5.5
def5.5.even | Def 5.5 | 426 | tight
  With the printed minus every predictor on the kernel's features is even, p(x) = p(-x), and errs on one half
  of the inputs without any attack: Theorem 5.6 says nothing then.
  origin: karat
lemG.4 | Lem G.4 | 2627 | lower
  For m <= d^C Gaussian w_i and r >= 3 C the tensor of sum_i <v_i, x> (<w_i, x>/|w_i|)^r has a Frobenius norm
  of at least Omega(max |v_i|/sqrt(d)), whatever the v_i.
lemG.5 | Lem G.5 | 2664 | lower
  For every symmetric T of degree r, tau > 0 and q in [0, d] the largest |T(delta^r)| over |delta|_inf <= tau,
  M_W(delta) <= tau sqrt(q) is at least Omega(|T|_F/tau^r).
claimG.6 | Claim G.6 | 2708 | lower
  The Taylor coefficients of a smoothed ReLU are |c_2i| = Theta(1/i!) and |c'_(2i+1)| = Theta(1/(i + 1)!).
claimG.6.repaired | Claim G.6 | 2708 | tight
  The Taylor coefficients of a smoothed ReLU are |c_2i| = 1/(sqrt(2 pi) 2^i i!) and |c'_(2i+1)| = |c_2i|/(2i
  + 1).
  origin: karat
  contradicts: purification.claimG.6
  supersedes: purification.claimG.6
claimG.7 | Claim G.7 | 2770 | lower
  A polynomial of degree R is somewhere on [1/2, 1] at least its largest coefficient times a constant,
  which is one over the largest coefficient of T_R(4 x - 3).
claimG.8 | Claim G.8 | 2790 | upper
  The largest |T(x_1, ..., x_r)| of a symmetric tensor over a box is at most O(1) times the largest |T(x^r)|:
  r^r/r! times.
fig2 | Fig 2 | 71 | reported numbers
  Angles theta = |cos| of AlexNet's filters: theta(w0, w), theta(w0, w') <= 0.2, theta(w, w') >= 0.8,
  theta(w_i, w_j) <= 0.2 for most neurons.
fig2.resnet | Fig 2 | 71 | reported numbers
  The same angles for ResNet-34 trained layer by layer (Section 8.2); clean > 80% / robust 0% before, clean >
  65% / robust > 42% after.
fig4 | Fig 4 | 216 | reported numbers
  Inputs are reconstructed from adversarially trained AlexNet features with average sparsity <= 4.05%.
fig5 | Fig 5 | 241 | qualitative
  The share of active neurons falls during clean training (WRN-28-10, CIFAR-10).
fig6 | Fig 6 | 372 | qualitative
  Deep-layer ResNet features lose their dense mixtures under l2(1, 0.25) adversarial training.
fig7 | Fig 7 | 403 | qualitative
  Adversarial perturbations of a clean net are dense; those of an adversarially trained one resemble images.
fig8 | Fig 8 | 473 | qualitative
  AlexNet on CIFAR-10: the winning neurons' correlation with their feature grows out of its initial lead.
fig10 | Fig 10 | 563 | qualitative
  Gradient ascent on the input pictures deep features of a robust net but not of a clean one.
fig11 | Fig 11 | 603 | qualitative
  Layer by layer (9 to 29) with robust lower layers frozen, adversarial training purifies the layer trained
  above.
fig12 | Fig 12 | 617 | qualitative
  Lasso on robust features reconstructs inputs more sparsely than on clean or random ones, and robust
  perturbations more sparsely than clean perturbations.
fig13 | Fig 13 | 639 | qualitative
  Purification of the 27th layer of ResNet-34 appears for all four attackers, and a stronger attacker purifies
  more.
rem8.1 | Rem 8.1 | 549 | qualitative
  Adversarial training started at clean-trained weights reaches the same robust and clean accuracies as from
  random weights.
rem8.2 | Rem 8.2 | 627 | reported numbers
  Perturbations of the clean net lie in the span of the robust features: regression error < 5e-5 (AlexNet).
rem8.2.resnet | Rem 8.2 | 627 | reported numbers
  Perturbations of the clean net lie in the span of the robust features: regression error < 1e-9 (ResNet).
rem8.2.untrained | Rem 8.2 | 627 | upper
  First-layer filters of both nets span every image before any training, to less than the errors printed in
  Remark 8.2 for perturbations and trained filters.
  origin: karat
sec7.mixture | Sec 7 | 529 | qualitative
  On a well-conditioned Gaussian mixture with linear labels clean training is already as robust as
  adversarial training.
sec8.2.frozen | Sec 8.2 | 608 | qualitative
  Robust lower layers with clean-trained upper layers still have robust accuracy 0%.
tab1 | Tab 1 | 556 | reported numbers
  ResNet-34 robust (clean) accuracy in % for l_inf 4/255, l_inf 8/255, l2(0.5, 0.12), l2(1, 0.25): clean 0.0
  (93.9); from random 61.4 (82.3), 45.7 (71.6), 59.8 (78.3), 42.3 (64.3); from clean 61.9 (83.9), 46.0
  (73.7), 60.0 (79.2), 42.2 (65.5).
""",
)

"""Statements of "A Theoretical Analysis on Feature Learning in Neural Networks"."""

from karat.study.statement import tabulate

STATEMENTS = tabulate(
    "features",
    """
eq1 | Eq 1 | 169 | definition
  Pattern dictionary data: x = M phi with binary phi in {0, 1}^D, and y = +1 exactly if the number of
  present patterns among the k relevant ones A lies in a set P.
A0 | Asm A0 | 177 | definition
  Balanced classes: P(y = +1) = 1/2.
A1 | Asm A1 | 179 | definition
  Every relevant pattern has the same positive covariance label_corr = E[y phi_i] - E[y] E[phi_i] with the
  label.
A2 | Asm A2 | 185 | definition
  Irrelevant patterns are independent of all others and identically distributed, present with probability
  p_background <= 1/2.
A1prime | Asm A1' | 207 | definition
  No input structure: all D patterns are fair independent coins.
appF | Thm 34 | 4293 | upper
  General setting: with a mu-incoherent dictionary, Gaussian input noise, dependent background patterns and
  unbalanced classes, class weights 1/(2 P(y)) in the first two steps still give a small error.
  uses: features.eq4
eq2 | Eq 2 | 219 | definition
  Two-layer net with 2m neurons a_i act(<w_i, x> + b_i), act(z) = min(1, max(z, 0)), with paired opposite
  top weights at the start.
eq3 | Eq 3 | 246 | definition
  Hinge loss of the net smoothed by Gaussian noise of width sigma_xi inside every activation.
eq4 | Eq 4 | 268 | algorithm
  Gradient descent with step-wise rates and regularisers: two feature-learning steps (lambda_w = 1/(2 lr)
  forgets the old weights), then classifier learning without noise.
thm1 | Thm 1 | 280 | upper
  For k >= log^2(D/(p_fail label_corr)), p_background >= k^2/D and m >= max(k^12/tol^1.5, D) some step of
  training has error <= hinge loss <= tol.
  uses: features.lem5, features.lem6, features.lem23.lp, features.lem24
lem5 | Lem 5 | 386 | existence
  A net with 3(k+1) neurons, all weights along sum_{j in A} M_j, computes y exactly.
lem6 | Lem 6 | 437 | upper
  The first gradient is -a_i sum_j T_j M_j with T_j within O(tol_e/sigma) of beta label_corr/sigma on
  relevant patterns and |T_j| = O(var_phi tol_e sigma) on the others.
sec5.1.improve | Sec 5.1 | 487 | qualitative
  The second gradient step improves the features: the ratio of relevant to background components grows.
sec5.2.mean | Sec 5.2 | 522 | qualitative
  The gradient that the neurons follow is roughly proportional to E[y x], the difference of the class means.
lem24 | Lem 24 | 2991 | upper
  In classifier learning with one rate lr < 1 and decay lambda, t steps move a neuron by at most 2 t lr lambda
  |w| + lr^2 t^2 + t |a|, with w and a its weights after step two.
  uses: features.lem23.lp
thm2 | Thm 2 | 297 | lower
  For fixed features in [-1, 1]^N and weights of norm B some distribution forces hinge loss >= p_background
  (1 - sqrt(2N) B/2^k), for odd k with 3 < k <= D/16.
  uses: features.thm29
thm29 | Thm 29 | 3379 | lower
  On fair coins, for odd k <= D/16, some parity of k patterns forces hinge loss >= 1 - sqrt(2N) B/2^k on every
  linear model of norm B over N features in [-1, 1] that were fixed before.
cor3 | Cor 3 | 332 | lower
  Shift-invariant kernels of norm L suffer hinge loss >= p_background (1 - poly(d, L)/2^k) - 1/poly(d, L).
  uses: features.thm2
thm4 | Thm 4 | 357 | lower
  Without input structure a statistical-query learner of error < 1/2 - 1/binom(D, k)^3 needs binom(D,
  k)^(1/3)/2 queries or a tolerance as fine: the printed threshold, read literally.
thm4.repaired | Thm 4 | 357 | lower
  Without input structure a statistical-query learner of error < 1/2 - binom(D, k)^(-1/2) needs binom(D,
  k)^(1/3)/2 queries or a tolerance as fine: the threshold that Parseval over the parities gives.
  origin: karat
  supersedes: features.thm4
lem23.lp | Lem 23 | 2643 | existence
  After two steps, for p_background >= k^2/D, k >= log^2(D m/(p_fail label_corr)) and m >= max(k^4, D), some
  linear classifier on the features has population hinge loss zero, |a|_0 = O(m/k) and |a|_inf = O(k^5/m).
  uses: features.lem5, features.lem6
tab1 | Tab 1 | 3573 | reported numbers
  Parity, d = 500, D = 100, k = 5: test accuracy 100.0 network, 86.4 NTK, 76.0 random features, 52.2 one
  step, 100.0 two steps, 52.0 network without structure; best cosine .997, NA, .114, .848, .997, .253.
tab1.overfit | Tab 1 | 3573 | reported numbers
  Without input structure the network fits its training set (100.0%) and stays at chance on test data (52.0%).
secE.1.1.second | Sec E.1.1 | 3589 | qualitative
  One step is not enough: a classifier on neurons frozen after it has about 52% test accuracy, after two steps
  about 100%.
secE.1.1.scale | Sec E.1.1 | 3589 | qualitative
  The gap between one and two steps is one of directions: it stays when the weights after step one get the
  lengths, biases and output weights of step two.
  origin: karat
tab2 | Tab 2 | 3620 | reported numbers
  Interval labels, k = 30: test accuracy 100.0, 100.0, 73.2, 41.0, 100.0, 100.0 for the same six methods;
  best cosine 1.00, NA, .153, .901, .994, .965.
tab2.weighted | Tab 2 | 3620 | reported numbers
  The numbers of Table 2 with class weights 1/(2 P(y)) in the first two steps, which the paper does not have.
  origin: karat
tab3 | Tab 3 | 3687 | reported numbers
  Parity over d: test accuracy 100.0, 81.5, 78.3, 51.1, 100.0, 51.0 at d = 100 and 100.0, 75.4, 77.0, 50.01,
  100.0, 52.5 at d = 2000.
tab3.one-step | Tab 3 | 3687 | reported numbers
  The best cosine after one step falls with the input dimension: .967, .848, .560 at d = 100, 500, 2000.
tab4 | Tab 4 | 3741 | reported numbers
  Parity over imbalance: test accuracy 100.0, 82.7, 70.4, 75.7, 100.0, 61.7 at negative share 0.8 and 100.0,
  81.7, 72.4, 89.2, 100.0, 71.8 at 0.9.
tab4.balanced | Tab 4 | 3741 | reported numbers
  The numbers of Table 4 with class weights in the first two steps and class-balanced batches after them,
  which the paper does not have.
  origin: karat
tab5 | Tab 5 | 3766 | reported numbers
  Parity over n: test accuracy 100.0, 84.1, 74.7, 50.0, 100.0, 50.2 at n = 25000 and 100.0, 75.0, 74.3,
  50.3, 100.0, 52.2 at n = 10000.
fig5 | Fig 5 | 3557 | qualitative
  Parity: the network's test accuracy passes both fixed-feature methods; without structure all three stay at
  chance.
fig6 | Fig 6 | 3560 | qualitative
  Parity: weights begin to cluster at +-sum_{j in A} M_j, by the sign of their a_i, after one step; the second
  improves them (cosine > 0.99).
fig7 | Fig 7 | 3605 | qualitative
  Interval labels: the network learns fastest, NTK reaches it later, random features stay below; structure
  is not needed.
fig7.weighted | Fig 7 | 3605 | qualitative
  What Figure 7 shows, with class weights 1/(2 P(y)) in the first two steps.
  origin: karat
fig8 | Fig 8 | 3607 | qualitative
  Interval labels: the weights cluster at +-sum_{j in A} M_j after two steps.
fig9 | Fig 9 | 3673 | qualitative
  The ranking of Figure 5 holds at d = 100 and d = 2000.
fig10 | Fig 10 | 3698 | qualitative
  The clustering of Figure 6 holds at d = 100 and d = 2000.
fig11 | Fig 11 | 3717 | qualitative
  The ranking of Figure 5 holds at negative class shares 0.8 and 0.9, with NTK less stable.
fig11.balanced | Fig 11 | 3717 | qualitative
  What Figure 11 shows, with class weights in the first two steps and class-balanced batches after them.
  origin: karat
fig12 | Fig 12 | 3726 | qualitative
  The clustering of Figure 6 holds at negative class shares 0.8 and 0.9.
fig13 | Fig 13 | 3776 | qualitative
  The ranking of Figure 5 holds with n = 25000 and, at m = 50, with n = 10000.
fig14 | Fig 14 | 3778 | qualitative
  The clustering of Figure 6 holds with n = 25000 and n = 10000.
secE.3.1 | Sec E.3.1 | 3790 | qualitative
  Hidden-representation labels (50 codes per class, D = 250, k = 50): weights move into clusters within two
  steps.
secE.3.2 | Sec E.3.2 | 3814 | qualitative
  Parity over a hypercube of 2^k Gaussians: every cluster centre is covered by some neuron's direction.
tab6 | Tab 6 | 3865 | definition
  Settings of the Gaussian hypercube: (d, k, sigma_r) = (100, 4, 1), (25, 4, 0.7), (100, 5, 1), m = 800.
fig17 | Fig 17 | 3884 | qualitative
  Digits 0/1: the 50 weights of a two-layer net form two clusters.
fig18 | Fig 18 | 3899 | qualitative
  CIFAR-10 airplane/automobile: the weights form two clusters.
fig19 | Fig 19 | 3902 | qualitative
  SVHN 0/1: the weights form four clusters.
fig20 | Fig 20 | 3949 | reported numbers
  ResNet(128), 95.75% accuracy: cosine inside green and red cluster and between centres, blocks 1-4: (.6152,
  .6973, -.7245), (.5528, .6000, -.7509), (.4260, .5006, -.5099), (.5584, .5697, -.9074).
fig21 | Fig 21 | 3976 | reported numbers
  ResNet(256), 93.8% accuracy: (.7065, .6551, -.7875), (.6599, .5299, -.9004), (.5193, .6267, -.9258),
  (.7386, .6839, -.9740): it clusters more than ResNet(128).
tab7 | Tab 7 | 3911 | reported numbers
  Mean gradients of steps 1-10, 11-20, 21-30 agree: cosines to their mean .9727, .8655, .6549 and pairwise
  .7454, .5083, .6533 (ResNet(128)); .8646, .9665, .9121 and .7087, .6919, .9135 (ResNet(256)).
secE.5 | Sec E.5 | 4003 | qualitative
  Labels from a teacher whose size sits at the first minimum of its test loss are equally complex on
  original and injected inputs, so a gap between the two parts measures input structure.
alg1 | Alg 1 | 4099 | algorithm
  Teacher choice: sweep the size, take the local minimum of the classical regime, retrain with the balance
  and confidence regulariser R1 + lambda R2 on the unlabelled inputs.
fig22 | Fig 22 | 4142 | qualitative
  Half Gaussian inputs: no clear gap between digits and Gaussians.
fig22.images | Fig 22 | 4156 | qualitative
  Half Gaussian inputs: the student learns the CIFAR-10 and SVHN part well and the Gaussian part slower and
  worse.
fig23 | Fig 23 | 4147 | qualitative
  Tiny ImageNet instead of Gaussians: the injected part is learned better than Gaussians, worse than the
  originals.
fig24 | Fig 24 | 4152 | qualitative
  CIFAR-10 with a Gaussian share of 0.25, 0.5, 0.75: the gap between the two parts keeps its sign.
fig25 | Fig 25 | 4183 | qualitative
  Digits with m = 50: the original part is learned faster and better, more clearly than with m = 9.
fig26 | Fig 26 | 4192 | qualitative
  The student's minimum on Gaussian inputs sits at the teacher's size for FC(9) and moves right for teachers
  of size 50 and 500.
""",
)

"""Statements of "Adversarial Robustness is at Odds with Lazy Training"."""

from karat.study.statement import tabulate

STATEMENTS = tabulate(
    "lazy",
    """
def2.1 | Def 2.1 | 84 | definition
  Lazy regime: every row of W stays within C0/sqrt(m) of its N(0, I) start (a (2, inf)-ball around W0), with
  fixed signs a_s and f = m^(-1/2) sum_s a_s relu(<w_s, x>).
fig1 | Fig 1 | 132 | tight
  Cone of the lazy ball: every W that some positive rescaling moves into the ball predicts like a lazy net.
thm3.1 | Thm 3.1 | 98 | upper
  One gradient step of length O(1/sqrt(d)), step size C2/|grad f(x)|^2, flips the sign of f at a fixed unit
  x for all W of the lazy ball at once, with probability 1 - p_fail, if d^2.4 <= m <= C4 exp(d^0.24).
  uses: lazy.lemB.5, lazy.lemB.7, lazy.lemB.9
thm3.1.adversary | Thm 3.1 | 98 | qualitative
  At small d, where no certificate decides, the worst nets of the ball C0 = 1 that an ascent over the weights
  finds are flipped by a step of size 4/|grad f|^2, with probability 1 - p_fail.
  origin: karat
thm3.1.figures | Thm 3.1 | 98 | upper
  The ball of the figures, C0 = 10: one gradient step of length O(1/sqrt(d)) flips its worst net, too.
  origin: karat
  uses: lazy.thm3.1
thm3.1.constant | Thm 3.1 | 98 | tight
  The constant behind O(1/sqrt(d)), derived here: rows within C0/sqrt(m) of an unpaired start can enforce a
  flip length whose tangent T solves |f| + C0/2 sqrt(1 + T^2) = T |P grad f|, C0/sqrt(2 d) where f = 0.
  origin: karat
thm3.1.size | Thm 3.1 | 98 | tight
  In wide nets of a large dimension the net of the ball whose rows all turn towards x withstands the step of
  size C2 with probability 2 (1 - Phi(sqrt(2) (C2 - C0/2))): p_fail costs C2 >= C0/2 + Phi^-1(1 -
  p_fail/2)/sqrt(2).
  origin: karat
  uses: lazy.thm3.1
sec3.data | Sec 3 | 113 | rate
  The power -1/2 of d is the network's and not the data's: it stays when the same data are zero-padded.
  origin: karat
sec3.radius | Sec 3 | 115 | rate
  The deviation 1/sqrt(m) is the largest for which |f| stays O(1) over the ball: with rows that move by C0
  m^(-1/2) the supremum does not depend on m, with C0 m^(-0.4) it grows like m^0.1.
sec3.movement | Sec 3 | 115 | qualitative
  Robust accuracy increases as the network weights are allowed to deviate more.
sec3.linear | Sec 3 | 119 | rate
  Intuition: the linear model d^(-1/2) <w, x> with Gaussian weights has gradient w, of length ~ sqrt(d).
sec3.linear.repaired | Sec 3 | 119 | rate
  The linear model d^(-1/2) <w, x> at a unit x has gradient w/sqrt(d), of length ~ 1, and its smallest flip
  is ~ 1/sqrt(d).
  origin: karat
  supersedes: lazy.sec3.linear
cor3.2 | Cor 3.2 | 136 | lower
  Every net of the lazy ball has robust error >= 0.9 at radius ~ 1/sqrt(d) on any distribution on the
  sphere, however it was trained, with probability 1 - 10 p_fail.
  uses: lazy.thm3.1
cor3.2.figures | Cor 3.2 | 136 | lower
  In the ball of the figures, C0 = 10, adversarially trained nets have robust error >= 0.9 at radius
  C0/sqrt(2 d) = 7.1/sqrt(d).
  origin: karat
cor3.2.figures.every | Cor 3.2 | 136 | lower
  In the ball of the figures, C0 = 10, no net is robust at a fixed x at radius 13/sqrt(d), with probability
  1 - p_fail, if d >= 3 C0^2.
  origin: karat
  uses: lazy.cor3.2
cor3.2.edge | Cor 3.2 | 136 | tight
  In wide nets the point at distance tau = sin(t) of x against the start's gradient defeats all nets of the
  lazy ball at once with probability Phi((k sqrt((d - 3/2)/2) - C0/2)/sqrt(1/2 - k^2/4)), k = sin(t)
  (1 - t/pi).
  origin: karat
cor3.2.rate | Cor 3.2 | 136 | rate
  The radius at which one point defeats all nets of the ball C0 = 1 on 9 of 10 starts falls like d^(-1/2),
  also at widths far below d^2.4.
  origin: karat
lem4.1 | Lem 4.1 | 156 | upper
  sup over the lazy ball of |f(x)| <= 2 sqrt(log(2/p_fail)) + C0.
  uses: lazy.lemB.5
lem4.2 | Lem 4.2 | 168 | lower
  inf over the lazy ball of |grad_x f(x)| >= sqrt(d)/4, if m >= C log(1/p_fail) and d >= C log(m/p_fail)/m:
  as printed, without a hypothesis on d against C0.
  uses: lazy.lem4.3
lem4.2.repaired | Lem 4.2 | 168 | lower
  The lemma with hypotheses on d against C0 and p_fail added: with probability 1 - p_fail, inf over the lazy
  ball of |grad_x f(x)| >= sqrt(d)/4 for d >= 100 C0^2, d >= 20 log(8/p_fail) and m >= 100 C0^2.
  origin: karat
  supersedes: lazy.lem4.2
lem4.2.figures | Lem 4.2 | 168 | lower
  The lemma in the ball of the figures, C0 = 10, at d = 784 and m >= d^2.4.
  origin: karat
  uses: lazy.lem4.3
lem4.3 | Lem 4.3 | 190 | upper
  At most C0 sqrt(m) + sqrt(m log(1/p_fail)/2) neurons can change sign at x anywhere in the lazy ball.
lem4.4 | Lem 4.4 | 196 | upper
  sup over the lazy ball and over |delta| <= O(1/sqrt(d)) of |grad f(x) - grad f(x + delta)| is o(sqrt(d)), if
  d^2.4 <= m <= O(exp(d^0.24)).
  uses: lazy.lemB.9
sec4.step | Sec 4 | 144 | upper
  Sketch: at the proof's step |eta| = 2 B/|grad f|^2 the bounds |f| <= B, |grad f| >= sqrt(d)/4 and a change
  of the gradient of o(sqrt(d)) make f - |eta| |grad f| + |eta| sup |change of grad f| negative.
sec4.step.repaired | Sec 4 | 144 | upper
  The sketch with the lost factor: the same bounds make f - |eta| |grad f|^2 + |eta| |grad f| sup |change of
  grad f| negative.
  origin: karat
  supersedes: lazy.sec4.step
sec4.3.start | Sec 4.3 | 210 | upper
  For one fixed delta and direction the change of the start's gradient is O((R sqrt(log d))^(1/4)) within the
  radius R.
lemB.4 | Lem B.4 | 384 | upper
  With row radius V the neurons that can change sign number at most V m + sqrt(m log(1/p_fail)/2) at x, and
  (1 + tau) times as many at some x + delta, |delta| <= tau <= 1/2: as printed, delta chosen neuron by neuron.
lemB.4.fixed | Lem B.4 | 384 | upper
  With row radius V at most (1 + tau) (V m + sqrt(m log(1/p_fail)/2)) neurons can change sign at x + delta for
  one fixed delta, |delta| <= tau <= 1/2: what the lemma's own proof shows, and no more.
  origin: karat
  supersedes: lazy.lemB.4
lemB.5 | Lem B.5 | 432 | upper
  sup over the lazy ball of |f(x)| <= sqrt(2 log(2/p_fail)) + 2 log(2/p_fail)/sqrt(m) + C0.
lemB.6 | Lem B.6 | 458 | upper
  A neuron of W0 changes sign between x and x + delta, |delta| <= tau <= 1/2, with probability at most tau
  sqrt(2 log d) + 1/d.
lemB.6.switch | Lem B.6 | 461 | upper
  A row that moves by at most V has two signs within a distance s of x + delta with probability at most 2 s
  (sqrt(d) + 2 sqrt(d log(2/s))) + (1 + R + s) V.
lemB.7 | Lem B.7 | 487 | lower
  Over the lazy ball |grad_x f| >= (1/2 - sqrt(2 log(4/p_fail)/m) - log(4/p_fail)/m)^(1/2) (d - 5 sqrt(d
  log(8/p_fail)))^(1/2) - C0 - sqrt((C0 + sqrt(log(4/p_fail)/2))/sqrt(m)) (d + 4 sqrt(d log(8
  m/p_fail)))^(1/2).
  uses: lazy.lem4.3, lazy.eq7.subset
lemB.8 | Lem B.8 | 555 | upper
  For one fixed direction and one fixed delta the change of the gradient is at most an explicit sum of order
  (tau sqrt(log d))^(1/4) + C0 + sqrt(d/sqrt(m)) + C0 sqrt(log m).
  uses: lazy.lemB.4.fixed, lazy.lemB.6
lemB.9 | Lem B.9 | 631 | upper
  Uniformly over directions and |delta| <= C1/sqrt(d) the change of the gradient is at most 9 (C1 d^2
  log^2(m d) sqrt(log d/d))^(1/4) + 15 d log(m d)/sqrt(m) + 327 max(1, C0) C0 d^(1/4), if m >= d^2.4.
  uses: lazy.lemB.4, lazy.lemB.6, lazy.lemB.8
proofB.8.rows | Lem B.8 | 597 | lower
  Proof of Lemma B.8: with probability 1 - p_fail all |<x, w_s>| of W0 are at most sqrt(log(m/p_fail)).
proofB.8.rows.repaired | Lem B.8 | 597 | lower
  With probability 1 - p_fail all |<x, w_s>| of W0 are at most sqrt(2 log(2 m/p_fail)).
  origin: karat
  supersedes: lazy.proofB.8.rows
proofB.9.width | Lem B.9 | 678 | upper
  Proof of Lemma B.9: m >= d^2.4 implies 0.33 d log(m d) <= sqrt(m).
proofB.9.width.repaired | Lem B.9 | 678 | upper
  With the term 44 max(1, C0) sqrt(m) log(e/4) that the line drops, m >= d^2.4 has to imply no more than
  2.3 d log(m d) <= (7 + 44 log(4/e)) sqrt(m).
  origin: karat
  supersedes: lazy.proofB.9.width
proofB.9.subsets | Lem B.9 | 697 | upper
  Proof of Lemma B.9: with probability 1 - p_fail no 44 max(1, C0) sqrt(m) rows add up to more than 113
  max(1, C0) C0 sqrt(log m + 2 log(8/p_fail)/sqrt(m)) times sqrt(m), for any constant C0.
proofB.9.subsets.repaired | Lem B.9 | 697 | upper
  The same without the factor C0: 113 max(1, C0) sqrt(log m + 2 log(8/p_fail)/sqrt(m)), for C0 <= sqrt(m).
  origin: karat
  supersedes: lazy.proofB.9.subsets
proofB.9.dimension | Lem B.9 | 683 | existence
  Lemma B.9 as printed lacks a hypothesis that its proof names: m >= d^2.4 and d >= log(4/p_fail)^2 do not
  give d >= log(4 m/p_fail)^2.
  origin: karat
proofB.9.dimension.repaired | Lem B.9 | 683 | upper
  The line for which the proof names it, log(p_fail) >= -sqrt(m), follows from the lemma's own hypotheses.
  origin: karat
eq7.subset | Eq 7 | 536 | upper
  Worst subset of flipped neurons: max over S of |sum_{s in S} a_s w_s|/sqrt(m) <= sqrt((C0 +
  sqrt(log(1/p_fail)/2))/sqrt(m)) |z|, the printed bound, with z as for a subset S chosen before W0.
proof3.1.printed | Thm 3.1 | 348 | upper
  Proof of Theorem 3.1: the step 2 |f|/((1 - kappa) |grad f|) against the gradient lands beyond -|f|, kappa
  being the largest relative growth of the gradient's norm within that distance.
proof3.1 | Thm 3.1 | 348 | upper
  Per-sample certificate of the single step: moving by 2 |f|/((1 - kappa) |grad f|) against the gradient
  lands beyond -|f|, kappa being the largest relative change of the gradient within that distance (the print
  has a difference of norms for the norm of the difference).
  origin: karat
  supersedes: lazy.proof3.1.printed
fig2 | Fig 2 | 221 | rate
  Digits 0/1 (raw, with bias), C0 = 10, m in {1e3, 1e4, 1e5}: smallest flip ~ 1/sqrt(d), gradient ~ sqrt(d),
  step ~ 1/d.
fig3 | Fig 3 | 226 | rate
  The same against d for C0 in {10, 20, 30, 40} at m = 1e5: all three keep their power of d, and a larger C0
  gives a larger smallest flip.
sec5.1.error | Sec 5.1 | 230 | reported numbers
  Every lazily trained net has a test error below 1 %, regardless of the stopping rule.
sec5.1.growth | Sec 5.1 | 236 | qualitative
  As C0 increases, both the gradient and the smallest flipping step increase.
fig4.radius | Fig 4 | 251 | rate
  Adversarially trained nets (m = 1000, C0 = 10, |x| = 1) lose their robust accuracy at radius ~ 5/sqrt(d).
fig4.movement | Fig 4 | 253 | rate
  At d = 784 and radius 0.2 robust accuracy appears once the allowed row movement V exceeds ~ 25/sqrt(m).
fig4.constant | Fig 4 | 251 | reported numbers
  Robust accuracy drops sharply about radius 5/sqrt(d): slightly above it is 0, below it nets are robust.
fig4.edge | Fig 4 | 253 | reported numbers
  A slight deviation from movement 25/sqrt(m) is enough for nets that are completely robust at radius 0.2.
sec5.2.beyond | Sec 5.2 | 253 | qualitative
  Adversarial robustness may require going beyond the lazy regime: without the projection training succeeds.
sec5.2.projection | Sec 5.2 | 249 | qualitative
  The projection onto the lazy ball after each step does not hurt the test accuracy of the trained models.
fig5 | Fig 5 | 307 | rate
  Figure 2 on normalised inputs without bias: the same three powers of d for every width m.
fig6 | Fig 6 | 312 | rate
  Figure 3 on normalised inputs without bias: the same three powers of d for every C0.
fig7 | Fig 7 | 319 | reported numbers
  At d = 784, m = 1e5, C0 = 10 the step that flips a prediction is small over the test set, around 0.045.
fig7.bell | Fig 7 | 314 | qualitative
  The histograms of flip size, gradient norm and step at d = 784, C0 = 10 exhibit a Gaussian distribution.
alg1 | Alg 1 | 323 | algorithm
  Projected adversarial training: 100 attack steps of 2.5 tau/100, gradient steps of 0.01 on the summed
  logistic loss, then every row of W projected back into the ball of radius C0/sqrt(m) around its start.
alg1.line4 | Alg 1 | 323 | qualitative
  Line 4 as printed, every attack step following the gradient at x, makes nets as robust as an iterated
  attack does.
  origin: karat
""",
)

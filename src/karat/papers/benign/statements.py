"""Statements of "Benign Overfitting in Adversarial Training of Neural Networks"."""

from karat.study.statement import tabulate

STATEMENTS = tabulate(
    "benign",
    """
def2.1 | Def 2.1 | 55 | definition
  Noisy mixture x = y_clean mu + xi with a strongly log-concave product law for xi and at most a share
  flip_rate of labels flipped, independently or in a correlated way.
alg1 | Alg 1 | 74 | algorithm
  Full-batch adversarial training W <- W - (lr/n) sum_i grad loss(y_i f(x_i + delta_i)) with the worst
  delta_i in the l2 ball of radius tau, unperturbed at t = 0, from symmetric tiny weights with a fixed top
  layer.
eq1 | Eq 1 | 96 | definition
  Smoothed leaky ReLU: slopes `slope` and 1 joined by a parabola on |z| <= 1/H, shifted by (1 - slope)/(4H)
  outside, so that phi(0) = 0 and phi' lies in [slope, 1].
thm3.1.1 | Thm 3.1(1) | 123 | upper
  After T >= T_bar steps the robust training loss is at most any chosen tolerance and the robust training
  error is 0, with probability 1 - 2 p_fail.
  uses: benign.lem4.4
thm3.1.2 | Thm 3.1(2) | 126 | upper
  Clean test error <= flip_rate + 2 exp(-c log_concavity n |mu|^4 / (C^2 d)).
  uses: benign.lem4.2, benign.lemB.14, benign.lemB.33
thm3.1.3 | Thm 3.1(3) | 130 | upper
  Robust test error <= flip_rate + 2 exp(-c log_concavity (sqrt(n/d) |mu|^2 / C - tau)^2) whenever tau <=
  sqrt(n/d) |mu|^2 / C.
  uses: benign.lem4.2, benign.lemB.14, benign.lemB.33
thm3.1.1.regime | Thm 3.1(1) | 123 | upper
  In three cells laid out for every hypothesis but the step size of Asm 1(4), trained until the proof's bound
  says something: robust training loss below it, robust training error 0.
  origin: karat
thm3.1.2.regime | Thm 3.1(2) | 126 | upper
  In the same trained cells the clean error is below the bound at C = 1, and one C serves the margins of all
  sizes.
  origin: karat
thm3.1.3.regime | Thm 3.1(3) | 130 | upper
  In the same trained cells the robust error is below the bound at C = 1, and one C serves the margins of all
  sizes.
  origin: karat
thm3.1.boundary.clean | Thm 3.1(2) | 126 | rate
  Beyond the hypotheses: from the theorem's start the C that half-way clean accuracy needs does not grow with
  d, so that the dimension tolerated grows asymptotically at least as |mu|^4.
  origin: karat
thm3.1.boundary.robust | Thm 3.1(3) | 136 | rate
  Beyond the hypotheses: from the theorem's start, at a fixed ratio tau/|mu|, the C that half-way robust
  accuracy needs does not grow with d.
  origin: karat
thm3.2 | Thm 3.2 | 146 | lower
  Every classifier has robust error >= flip_rate + (1 - 2 flip_rate)/4 * (overlap of the cluster law with
  its shift by 2 (1 - tau/|mu|) mu) for tau < |mu|, and >= 1/2 for tau >= |mu|.
sec3.onestep | Sec 3.4 | 136 | qualitative
  One step of adversarial training already classifies every training point robustly: robust training error 0
  at t = 1.
lemB.14 | Lem B.14 | 791 | lower
  For smooth activations at every t >= 1 and for both classes E[y f(x)]/|W|_2 >= slope^2/(32 C2) sqrt(n/d)
  |mu|^2, with C2 = sqrt(5 C1 C_r).
  uses: benign.lemB.9, benign.lem4.3
lemB.26 | Lem B.26 | 1324 | lower
  For the ReLU every step raises the margin of every point of every training ball, by at least lr c0 slope^2
  g_i/(2 n) (sqrt(d/C1) - tau)^2.
  uses: benign.lem4.5
lemB.33 | Lem B.33 | 1626 | rate
  For the ReLU at every t >= 1 and for both classes E[y f(x)]/|W|_2 >= c9/(16 C2) sqrt(n/d) |mu|^2 with some
  constant c9 > 0.
  uses: benign.lemB.26
lemB.9 | Lem B.9 | 571 | lower
  For smooth activations the margin of every point of every training ball is >= 0 and never decreases from
  one step to the next.
propB.34 | Prop B.34 | 1730 | lower
  The first step leaves the lazy regime: |W1 - W0|_F / |W0|_F >= slope |mu| / 10.
lem4.1 | Lem 4.1 | 170 | upper
  At every step each adversarial training point is within min(init_scale sqrt(m d)/lr, tau) of the span of
  the clean training points.
lem4.2 | Lem 4.2 | 180 | upper
  Robust error <= flip_rate + sum over both classes of exp(-c log_concavity (E[y f | class]/|W|_2 - tau)^2),
  provided both normalised margins exceed tau.
lem4.3 | Lem 4.3 | 186 | lower
  One step raises the margin of any (x, y) by at least (lr/n) sum_i g_i (r_i <y_i x~_i, y x> - H |x|^2 C2^2
  d lr/(2 sqrt(m) n)) with r_i in [slope^2, 1].
lem4.4 | Lem 4.4 | 198 | upper
  The loss derivatives of any two perturbed training points stay within a constant factor at every step: max
  g_i/g_j <= C_r.
lem4.5 | Lem 4.5 | 204 | rate
  After one ReLU step every neuron is robustly active on a constant share of the samples of its sign, and
  every sample robustly activates a constant share of the neurons of its sign.
sec5 | Sec 5 | 216 | reported numbers
  The paper's own experiment (n = 100, flip_rate 0.1, 1000 ReLU neurons, PyTorch initialisation, all layers
  trained, 1000 steps): 100% robust training accuracy, robust test error near 0.1.
fig1 | Fig 1 | 220 | rate
  Over |mu| in 1..10 and d in 1000..18000 at tau/|mu| = 0.1 the robust accuracy changes at d ~ |mu|^2.
fig1.clean | Fig 1 | 220 | rate
  Over the same grid the clean accuracy changes at d ~ |mu|^4.
fig2 | Fig 2 | 224 | qualitative
  Robust training loss falls to 0 while robust test error settles at the flip rate 0.1; smaller |mu|, larger
  d and larger tau/|mu| each raise it (10 runs).
fig3 | Fig 3 | 339 | rate
  At |mu| = 5 the ratio tau/|mu| that a given robust accuracy tolerates shrinks as d grows from 500 to 6000.
fig4 | Fig 4 | 345 | qualitative
  Digits 0/1 rescaled to |x| = |mu|, tau/|mu| = 0.3: the same two transitions, d ~ |mu|^4 (clean) and d ~
  |mu|^2 (robust).
fig5 | Fig 5 | 353 | qualitative
  Digits 0/1 at |mu| = 5: robust accuracy over (d, tau/|mu|) falls with the ratio, faster for larger d.
fig6 | Fig 6 | 361 | qualitative
  Digits 0/1 without label noise: robust training loss and robust test error both fall to 0 over |mu|, d and
  tau/|mu|.
""",
)

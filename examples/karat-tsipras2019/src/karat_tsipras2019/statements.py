"""Statements of "Robustness May Be at Odds with Accuracy"."""

from karat.study.statement import tabulate

# The line is that of a text file beside the paper; there is none here.
STATEMENTS = tabulate(
    "tsipras2019",
    """
eq2 | Sec 2.1 | 0 | definition
  y = +-1 uniform; the strong feature x_1 = y with probability p >= 1/2, else -y; d weak features N(eta y, 1).
sec2.1.average | Sec 2.1 | 0 | lower
  The mean of the weak features has standard accuracy Phi(eta sqrt(d)), above 0.99 for eta >= 3/sqrt(d).
sec2.1.fragile | Sec 2.1 | 0 | upper
  At l_inf radius tau = 2 eta that classifier has robust accuracy Phi(-eta sqrt(d)), below 0.01.
sec2.1.strong | Sec 2.1 | 0 | tight
  The strong feature alone has accuracy p, standard and at every l_inf radius tau < 1.
thm2.1 | Thm 2.1 | 0 | upper
  Standard accuracy 1 - delta leaves robust accuracy p/(1 - p) delta at most, at l_inf radius tau >= 2 eta.
thm2.1.tight | Thm 2.1, its proof | 0 | tight
  Trusting x_1 unless the mean contradicts it by more than c misses that bound by
  (2p - 1)/(1 - p) Phi(-(c + eta) sqrt(d)) only: the trade-off is attained at every delta.
thm2.2.standard | Thm 2.2 | 0 | upper
  The unit-norm soft-margin classifier, eta >= 4/sqrt(d) and p <= 0.975, has standard accuracy above 0.99 and
  robust accuracy below 0.01 at tau = 2 eta.
thm2.2.robust | Thm 2.2 | 0 | lower
  Minimising the adversarial loss at tau = 2 eta instead gives standard and robust accuracy p at least.
""",
)

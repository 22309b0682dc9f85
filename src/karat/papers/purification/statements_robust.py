"""Statements of the proofs on adversarial training: robust coupling, and how far a step moves a neuron."""

from karat.study.statement import tabulate

ROBUST_TRAINING = tabulate(
    "purification",
    """
lemF.11 | Lem F.11 | 2098 | upper
  Robust coupling in l2: for |v_i| <= r' of root mean square r <= 1 and tau = o(b/(Xi2^2 + r')), freezing the
  gates at x changes the net at x + delta by O(tau^2) (Xi2^5/sigma_rho + (Xi2^2 + r')^2 r^2 m/(d b^2
  sigma_rho)) on average; by O(tau^2) (Xi2^5/sigma_rho + k^3.5/d^(1 - 2 c0)) for r = O(k Xi2^2/sqrt(d)), r'
  <= 1.
lemF.12 | Lem F.12 | 2138 | upper
  In l2 pure parts under attack, with present gates, differ from the clean net without attack by O(m r^2/(d
  sigma_rho) + k Xi2 r log(d)/sqrt(d) + tau Xi2^3 sqrt(k Xi2 + r^2 m/(d b^2))) on average (r: see the
  reading), and by O(k^2.5/d^(1 - 2 c0) + tau sqrt(k Xi2^7)) for r = O(k Xi2^2/sqrt(d)).
lemF.13 | Lem F.13 | 2194 | upper
  Robust coupling in l_inf: as in l2, with O(tau^2) (k Xi2^5/sigma_rho + (Xi2^2 + r')^2 r^2 m/(d b^2
  sigma_rho) + r'^2 k Xi2/sigma_rho), and O(tau^2) k^3.5 d^c0 |M|_inf^2 for r = O(k Xi2^2/sqrt(d)) and r' =
  O(k Xi2^2 |M|_inf), where |v_i|_1 <= r' and r <= 1 is the root mean square of |v_i|_2.
lemF.14 | Lem F.14 | 2210 | upper
  In l_inf the pure parts under attack and the clean net differ by O(m r^2/(d sigma_rho) + k Xi2 r
  log(d)/sqrt(d) + tau Xi2^3 (k Xi2 + r^2 m/(d b^2))) on average, and by O(k^2.5/d^(1 - 2 c0) + tau k Xi2^4)
  for r = O(k Xi2^2/sqrt(d)), with r as in l2.
lemF.15 | Lem F.15 | 2250 | upper
  As printed, for every tau, at sigma_x = 0: where |v_i|_2 <= r', one unit of step length moves a neuron by
  |E[l 1[<w_i, x + delta> + rho_i >= b] (x + delta)]|_2 = O((k/d + r'^2 log(d)/(d b^2)) tau + sqrt(k)/d +
  r'^2/(d b^2) sqrt(k/d) + r'/(d b)), for all l in [-1, 1] and |delta|_2 <= tau.
lemF.15.repaired | Lem F.15 | 2250 | upper
  The movement bound in l2, at sigma_x = 0 and for neurons of one feature, under the condition of Lemma F.11
  read as tau |w_i|_2 <= b/2: then no perturbation alone opens a gate.
  origin: karat
  contradicts: purification.lemF.15
  supersedes: purification.lemF.15
lemF.16 | Lem F.16 | 2337 | upper
  As printed, for every tau: where |v_i|_1 <= r', |E[l 1[<w_i, x + delta> + rho_i >= b] (x + delta)]|_1 =
  O((k/d + r'^2/(d b^2)) (tau d + |M|_inf log d)) for all l in [-1, 1] and |delta|_inf <= tau.
lemF.16.repaired | Lem F.16 | 2337 | upper
  The movement bound in l_inf, for neurons of one feature, under the condition of Lemma F.13 read as tau
  |w_i|_1 <= b/2: then no perturbation alone opens a gate.
  origin: karat
  contradicts: purification.lemF.16
  supersedes: purification.lemF.16
""",
)

"""Statements of the proofs on clean training: steps after the lottery, and the net they are compared with."""

from karat.study.statement import tabulate

CLEAN_TRAINING = tabulate(
    "purification",
    """
lemC.5 | Lem C.5 | 867 | upper
  Critical lemma as printed, for Y(z, S1) = Y(-z, -S1): Delta = E[Y(1, S1) 1[alpha + S2 + rho >= b] - Y(-1,
  S1) 1[-alpha + S2 + rho >= b]] is O(sqrt(V)/sigma_rho + L) in size, and at least -O(sqrt(V)/sigma_rho) if Y
  does not fall in z.
lemC.5.repaired | Lem C.5 | 867 | upper
  Critical lemma, Y(z, S1) = -Y(-z, -S1): |Delta| <= sqrt(2/pi) sqrt(V)/sigma_rho + 2 L, Delta >=
  -sqrt(2/pi) sqrt(V)/sigma_rho if Y does not fall in z, and |Delta| <= (e^(-2 (eta b/sigma_rho)^2) + Gamma)
  (min(1, sqrt(2/pi) alpha/sigma_rho) + 2 L_y) + (2 + 2 L_y) Gamma_y if alpha <= (1 - 5 eta) b, eta =
  c2/(10 c1).
  origin: karat
  contradicts: purification.lemC.5
  supersedes: purification.lemC.5
lemC.14 | Lem C.14 | 1219 | rate
  Signal growth II: for a sure winner i of feature j, E[y loss' 1[<w_i, x> + rho_i >= b] z_j] is of order 1/d,
  up to O(L_j/d + sqrt(k) sigma_rho log(d)/d + sqrt(k)/(beta d^1.5)).
  uses: purification.lemC.5.repaired
lemC.15 | Lem C.15 | 1281 | upper
  Maximum growth II: |E[y loss' 1[<w_i, x> + rho_i >= b] z_j]| = O((1 + L_j)/d + sqrt(k) sigma_rho log(d)/d +
  sqrt(k)/(beta d^1.5)) for every neuron and feature.
  uses: purification.lemC.14
lemC.16 | Lem C.16 | 1285 | upper
  Non-signal growth II: where i is no potential winner of j, |E[y loss' 1[<w_i, x> + rho_i >= b] z_j]| is at
  most Gamma_t O((log(d) + L_j)/d + sqrt(k) sigma_rho log(d)/d).
  uses: purification.lemC.7, purification.lemC.5.repaired
lemC.17a | Lem C.17(a) | 1317 | upper
  Noise growth II: |E[y loss' 1[<w_i, x> + rho_i >= b] <xi, M_j>]| = O(Gamma_t |<w_i, M_j>| sigma_x^2/(d
  sigma_rho) + Gamma_t L_j sigma_x^2/d).
  uses: purification.lemC.7
lemC.17b | Lem C.17(b) | 1317 | upper
  Noise growth II, over all features: sum_j |E[y loss' 1[<w_i, x> + rho_i >= b] <xi, M_j>]| = O(k^3 Xi2^4
  sigma_x^2/d^2).
  uses: purification.lemC.19
lemC.20 | Lem C.20 | 1410 | upper
  Coordinate Lipschitzness: one code changes f by L_j |z_j| at most, where L_j is the sum of |<w_i, M_j>| over
  the potential winners of j, up to O(k/sqrt(d)).
  uses: purification.lemC.19
lemC.21 | Lem C.21 | 1438 | upper
  Regularity: with lambda >= 1/d at every time L_j = O(Xi2^2), |w_i| = O(Xi2^2) and, with high probability,
  |f(x)| = O(Xi2^2 log d).
  uses: purification.lemC.15, purification.lemC.17a, purification.lemC.20
lemC.22 | Lem C.22 | 1478 | lower
  Loss lower bound: where L_max = O(Xi2^2), E[loss'] = Omega(min(1, 1/(L_max^2 log(d)^2))).
  uses: purification.lemH.1
claimD.5 | Claim D.5 | 1688 | upper
  The comparison weights mu_i = alpha w_star_j M_j/|S_sure_j| have sum |mu_i|^2 = O(alpha^2 d/Xi1) and sum
  |mu_i|^3 = O(alpha^3 d/Xi2^2).
  uses: purification.lemB.2
claimD.5.repaired | Claim D.5 | 1688 | upper
  The comparison weights mu_i = alpha w_star_j M_j/|S_sure_j| have sum |mu_i|^2 = O(alpha^2 d/Xi1) and sum
  |mu_i|^3 = O(alpha^3 d/Xi1^2).
  origin: karat
  contradicts: purification.claimD.5
  supersedes: purification.claimD.5
lemD.6a | Lem D.6(a) | 1692 | upper
  Coupling: the linear net with the gates of f has g(mu) = alpha <w_star, z> up to O(1/Xi2^2), with high
  probability.
  uses: purification.claimD.7, purification.claimD.8
lemD.6b | Lem D.6(b) | 1692 | upper
  Coupling: E[log(1 + exp(-y g(mu)))] = O(1/alpha^2 + 1/Xi2^2).
  uses: purification.lemD.6a, purification.lemH.1
lemD.6b.repaired | Lem D.6(b) | 1692 | upper
  Coupling: E[log(1 + exp(-y g(mu)))] = O(1/alpha + 1/sqrt(k) + 1/Xi2^2), where 1/alpha cannot be improved.
  origin: karat
  uses: purification.lemD.6a, purification.lemH.1
  contradicts: purification.lemD.6b
  supersedes: purification.lemD.6b
claimD.7 | Claim D.7 | 1735 | upper
  The part sum_j alpha z_j 1[a sure winner of j is awake] of g(mu) is alpha <w_star, z>, but for a probability
  e^-Omega(log(d)^2).
  uses: purification.lemC.19
claimD.8 | Claim D.8 | 1754 | upper
  The part sum_i (rho_i - b) (1[<w_i, x> + rho_i >= b] - 1[-<w_i, x> + rho_i >= b]) of g(mu) is O(1/Xi2^2) in
  size, with high probability.
  uses: purification.lemC.19, purification.lemH.3.repaired
""",
)

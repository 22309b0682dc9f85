"""Plain-text formulas with the signs a reader expects; text in, text out, nothing is marked up."""

import re

_SIGNS = {"<=": "≤", ">=": "≥", "->": "→", "<-": "←", "+-": "±", "sqrt(": "√(", "_star": "⋆"}
_GREEK = {
    "mu": "μ",
    "tau": "τ",
    "delta": "δ",
    "beta": "β",
    "gamma": "γ",
    "kappa": "κ",
    "lambda": "λ",
    "rho": "ρ",
    "xi": "ξ",
    "phi": "φ",
    "theta": "θ",
    "sigma": "σ",
}
_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def typeset(text: str) -> str:
    """Replace spelled-out signs, Greek letters and whole powers.

    >>> typeset("error <= 2 exp(-c (sqrt(n/d) |mu|^2 / C - tau)^2)")
    'error ≤ 2 exp(-c (√(n/d) |μ|² / C - τ)²)'
    >>> typeset("m >= d^2.4 and k^-0.5")
    'm ≥ d^2.4 and k^-0.5'
    >>> typeset("theta(w0, w') >= 0.8, start -> before")
    'θ(w₀, w′) ≥ 0.8, start → before'
    """
    for spelled, sign in _SIGNS.items():
        text = text.replace(spelled, sign)
    text = re.sub(r"(?<![A-Za-z])(?:" + "|".join(_GREEK) + r")(?![A-Za-z])", lambda m: _GREEK[m[0]], text)
    text = re.sub(r"(?<!\w)w0(?!\w)", "w₀", text)
    text = re.sub(r"(?<!\w)w'", "w′", text)
    return re.sub(r"\^(\d+)(?!\d|\.\d)", lambda m: m[1].translate(_POWERS), text)

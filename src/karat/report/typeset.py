"""Plain-text formulas with the signs a reader expects."""

import re

from markupsafe import Markup, escape

_SIGNS = {"<=": "≤", ">=": "≥", "->": "→", "<-": "←", "+-": "±", "sqrt(": "√("}
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
    """Replace spelled-out signs, Greek letters and whole powers: text in, text out, nothing is marked up.

    Args:
        text: plain.

    >>> typeset("error <= 2 exp(-c (sqrt(n/d) |mu|^2 / C - tau)^2)")
    'error ≤ 2 exp(-c (√(n/d) |μ|² / C - τ)²)'
    >>> typeset("m >= d^2.4 and k^-0.5")
    'm ≥ d^2.4 and k^-0.5'
    >>> typeset("w_star at_start, 5/sqrt d, R/sqrt(m)")
    'w⋆ at_start, 5/√d, R/√m'
    >>> typeset("theta(w0, w') >= 0.8, start -> before")
    'θ(w₀, w′) ≥ 0.8, start → before'
    """
    for spelled, sign in _SIGNS.items():
        text = text.replace(spelled, sign)
    text = re.sub(r"(?<![A-Za-z])(?:" + "|".join(_GREEK) + r")(?![A-Za-z])", lambda m: _GREEK[m[0]], text)
    text = re.sub(r"_star(?![A-Za-z])", "⋆", text)
    text = re.sub(r"(?<![A-Za-z])sqrt (?=\w)", "√", text)
    text = re.sub(r"√\((\w+)\)", r"√\1", text)
    text = re.sub(r"(?<!\w)w0(?!\w)", "w₀", text)
    text = re.sub(r"(?<!\w)w'", "w′", text)
    return re.sub(r"\^(\d+)(?!\d|\.\d)", lambda m: m[1].translate(_POWERS), text)


_BASES = r"((?<![A-Za-z0-9_])(?:[A-Za-zα-ωΣℓ]|min|max|sup)|[|)⋆~])"
_EXPONENT = r"\((?:[^()]|\([^()]*\))*\)|-?\d+(?:\.\d+)?|-?[A-Za-zα-ω]\w{0,2}(?:\([^()]*\))?"
_WORDS = {"Theta(": "Θ(", "Omega(": "Ω(", "sum_": "Σ_", "l_inf": "ℓ_∞", "_inf": "_∞"}


def formula(text: str) -> Markup:
    """Return HTML: the signs of `typeset`, other powers raised and indices of single letters lowered.

    Args:
        text: plain, never HTML.

    >>> str(formula("m >= d^2.4, |z|_0 <= k^-(0.5 + c)"))
    'm ≥ d<sup>2.4</sup>, |z|<sub>0</sub> ≤ k<sup>-(0.5 + c)</sup>'
    >>> str(formula("sum_i w_i < flip_rate, min_{t<T} L_A in l_inf"))  # names of settings stay as they are
    'Σ<sub>i</sub> w<sub>i</sub> &lt; flip_rate, min<sub>t&lt;T</sub> L<sub>A</sub> in ℓ<sub>∞</sub>'
    """
    for spelled, sign in _WORDS.items():
        text = text.replace(spelled, sign)
    html = str(escape(typeset(text)))
    html = re.sub(rf"\^(-?(?:{_EXPONENT}))", lambda m: f"<sup>{_unwrapped(m[1])}</sup>", html)
    html = re.sub(rf"{_BASES}_\{{([^{{}}]*)\}}", r"\1<sub>\2</sub>", html)
    return Markup(re.sub(rf"{_BASES}_([A-Za-zα-ω0-9∞]+|\*)(?!\w)", r"\1<sub>\2</sub>", html))


def _unwrapped(exponent: str) -> str:
    """An exponent in parentheses needs none when it is raised."""
    return exponent[1:-1] if exponent.startswith("(") and exponent.endswith(")") else exponent

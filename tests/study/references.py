"""Resolve the `Ref:` lines of docstrings to a numbered place of one of the papers."""

import re
from collections.abc import Mapping

from karat.study.registry import PAPERS, STATEMENTS

_WORDS = {
    "theorem": "thm",
    "lemma": "lem",
    "corollary": "cor",
    "proposition": "prop",
    "definition": "def",
    "assumption": "asm",
    "algorithm": "alg",
    "section": "sec",
    "appendix": "app",
    "equation": "eq",
    "figure": "fig",
    "table": "tab",
    "remark": "rem",
    "claim": "claim",
    "fact": "fact",
    "example": "example",
    "footnote": "fn",
}

# Places that are not statements of their own but that a docstring may cite; "B.2-B.4" is a range.
_PLACES: Mapping[str, str] = {
    "purification": """
        sec: 1-8 4.1 4.2 5.1 5.2 6.1 6.2 8.1-8.4 C.1-C.4 F.1-F.5 G.1-G.5; app: A B C D E F G H
        def: 4.1-4.3 5.5 B.1 B.3 C.6 C.12 C.13 D.3 D.4 F.9 F.10; eq: 5.1 6.1 6.2 C.1-C.26 F.1-F.18
        thm: 5.1 5.3 D.1 E.1 F.1 F.4 G.1; cor: F.2 F.3 F.5 F.6; prop: F.8; rem: 8.1 C.3 D.2 F.7; fact: A.1
        lem: A.2 C.4-C.22 D.6 F.11-F.16 G.4 G.5 H.2-H.4 H.1a H.1b; claim: D.5 D.7 D.8 F.17 G.2 G.3 G.6-G.8
        fig: 9; asm: 2.1; fn: 1-19""",
    "lazy": """
        sec: 1-6 2.1 2.2 4.1-4.3 5.1 5.2; app: A B; eq: 1-10; fig: 4; thm: B.1-B.3""",
    "convergence": """
        sec: 1-7 3.1-3.3 4.1 C.1 C.2; app: A B C D C.1; eq: 1-26; asm: 3.1 5.1-5.3 C.1; def: 6.1 6.2
        rem: 5.1; lem: A.1-A.6 C.1-C.3; prop: C.1; thm: C.1; cor: C.1; fn: 1-14""",
    "benign": """
        sec: 1-6 2.1 3.1-3.4 4.1-4.3 B.1-B.3; app: A B; eq: 1-7; thm: 3.1 B.1 B.17
        asm: 1 1.1-1.6 A1 A2 B1 B2; def: B.5 B.22; cor: B.16 B.31; prop: B.18 B.20 B.23 B.24
        lem: B.2-B.15 B.19 B.21 B.25-B.30 B.32 B.33; fig: 7; fn: 1 2""",
    "features": """
        sec: 1-6 3.1 5.1 5.2 E.1-E.5 E.1.1 E.1.2 E.2.1-E.2.3 E.4.1 E.5.1-E.5.4 F.1-F.9 F.1.1
        app: A B C D E F; eq: 1-295; example: 1 2; thm: 26-29 32-34 49; lem: 7-25 35-48; cor: 30; def: 31
        claim: 1-4; fig: 1-4 15 16; fn: 1""",
}


def resolve_ref(text: str) -> tuple[str, ...]:
    """Canonical names of the places a reference "key, item[; key, item]" points to.

    >>> resolve_ref("benign, Thm 3.1(3); purification, Eq. (F.17)")
    ('benign.thm3.1.3', 'purification.eqF.17')
    """
    resolved = []
    for clause in text.strip().rstrip(".").split(";"):
        paper, comma, item = (part.strip() for part in clause.partition(","))
        if not comma or paper not in PAPERS:
            raise ValueError(
                f"a reference reads 'key, item' with a key of {', '.join(PAPERS)}; got {clause!r}."
            )
        name = _canonical(item)
        if name not in _KNOWN[paper]:
            raise ValueError(f"{item!r} is no numbered place of the paper {paper}.")
        resolved.append(f"{paper}.{name}")
    return tuple(resolved)


def _canonical(item: str) -> str:
    """Bring "Theorem 3.1 (3)" and "Thm 3.1(3)" to "thm3.1.3"; a bare number is a section."""
    item = item.replace("'", "prime")
    if re.fullmatch(r"[0-9A-H](\.\d+)+", item):
        return f"sec{item}"
    match = re.fullmatch(r"(?:proof of )?([A-Za-z]{2,})\.?\s*(.+)", item)
    if match is None:
        return item
    word, number = match[1].lower(), re.sub(r"\s", "", match[2])
    number = re.sub(r"^\((.*)\)$", r"\1", number)
    number = re.sub(r"\((\d+)\)$", r".\1", number)
    return _WORDS.get(word, word) + re.sub(r"\(([a-z])\)$", r"\1", number)


def _expand(places: str) -> set[str]:
    """All canonical names of a list such as "lem: A.2 B.2-B.4; eq: 1-3"."""
    names: set[str] = set()
    word = ""
    for token in places.replace(";", " ").split():
        if token.endswith(":"):
            word = token[:-1]
            continue
        first, _, last = token.partition("-")
        stem, _, start = first.rpartition(".")
        if not last:
            names.add(word + first)
            continue
        stop = last.rpartition(".")[2]
        names |= {word + ".".join(filter(None, [stem, str(n)])) for n in range(int(start), int(stop) + 1)}
    return names


_KNOWN = {
    key: _expand(_PLACES.get(key, ""))
    | {_canonical(s.ref.partition(", ")[2]) for s in STATEMENTS if s.paper == key}
    | {s.id.partition(".")[2] for s in STATEMENTS if s.paper == key}
    for key in PAPERS
}

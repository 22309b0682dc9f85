"""Every item of the papers' inventory is a statement, and the statements are well formed."""

import re

import pytest
from references import resolve_ref

from karat.study.listing import listed_checks
from karat.study.paper import Paper
from karat.study.registry import CHECKS, PAPERS, STATEMENTS, coverage, get_statement
from karat.study.statement import KINDS, tabulate

# The rows of the inventory of the five papers, one entry per id.
INVENTORY = {
    "purification": """
        model sec3.linear sec3.threshold net alg1 alg2 def4.2 thm5.1a thm5.1b thm5.1c thm5.2 thm5.3a thm5.3b
        thm5.3c thm5.4 thm5.6 cor5.7 eqF.17 claimE.3 lemE.2 sec6.kinetics lemC.8 lemC.9 lemC.10 lemC.18
        lemC.19 lemH.1 fig9.random thm5.3a.weak lemB.2 thmC.1 thmC.2 sec6.transfer sec6.pureinit fig2 fig5
        fig4 fig12 rem8.2 sec8.2.frozen fig1 fig6 fig7 fig8 fig10 fig11 fig13 tab1 fact2.2 fig3""",
    "lazy": """
        def2.1 thm3.1 cor3.2 lem4.1 lem4.2 lem4.3 lem4.4 lemB.4 lemB.5 lemB.6 lemB.7 lemB.8 lemB.9
        eq7.subset proof3.1 fig1 fig2 fig3 fig5 fig6 fig7 alg1 fig4.radius fig4.movement""",
    "convergence": """
        eq1 def3.1 def3.2 def3.3 def3.4 thm4.1 thm5.1 def5.1 asm5.2 thm5.2 cor5.1 appC.2 thm6.1 thm5.2.built
        thm5.1.regret thm5.1.exit vs-lazy""",
    "benign": """
        def2.1 alg1 eq1 thm3.1.1 thm3.1.2 thm3.1.3 thm3.2 lemB.14 lemB.9 propB.34 lem4.1 lem4.2 lem4.3
        lem4.4 lem4.5 fig1 fig2 fig3 fig4 fig5 fig6 sec5 sec3.onestep""",
    "features": """
        eq1 A0 A1 A2 A1prime appF eq2 eq3 eq4 thm1 lem5 lem6 thm2 cor3 thm4 tab1 tab2 tab3 tab4 tab5 fig5
        fig6 fig7 fig8 fig9 fig10 fig11 fig12 fig13 fig14 secE.3.1 secE.3.2 tab6 lem23.lp fig17 fig18 fig19
        fig20 fig21 tab7 secE.5 alg1 fig22 fig23 fig24 fig25 fig26""",
}
IDS = [f"{paper}.{item}" for paper, items in INVENTORY.items() for item in items.split()]


@pytest.mark.parametrize("claim_id", IDS)
def test_every_row_of_the_inventory_is_a_statement(claim_id):
    assert get_statement(claim_id).id == claim_id


def test_ids_are_unique_and_name_their_paper():
    ids = [statement.id for statement in STATEMENTS]
    assert len(ids) == len(set(ids))
    assert all(statement.id.startswith(f"{statement.paper}.") for statement in STATEMENTS)
    assert {statement.paper for statement in STATEMENTS} == set(PAPERS)


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.id)
def test_statements_are_well_formed(statement):
    assert statement.kind in KINDS
    assert statement.line > 0
    assert statement.title.endswith((".", "?")) or "?" in statement.title
    assert 20 < len(statement.title) < 320
    assert statement.ref.startswith(f"{statement.paper}, ")
    assert resolve_ref(statement.ref)


def test_the_experiment_of_the_benign_paper_is_kept_apart_from_its_theorem():
    assert get_statement("benign.sec5").kind == "reported numbers"
    assert get_statement("benign.thm3.1.3").kind == "upper"


def test_unknown_claims_get_the_nearest_ids():
    message = (
        r"there is no claim `benign\.thm31` \(did you mean benign\.\S+.*\?\); `karat claims` lists them\."
    )
    with pytest.raises(ValueError, match=message):
        get_statement("benign.thm31")
    with pytest.raises(ValueError, match=r"there is no claim `###`; `karat claims` lists them\."):
        get_statement("###")


def test_coverage_counts_every_statement_once():
    counts = coverage()
    assert list(counts) == list(PAPERS)
    assert sum(count.total for count in counts.values()) == len(STATEMENTS)
    assert sum(count.executable for count in counts.values()) == len(CHECKS)


def test_checks_belong_to_statements():
    for claim_id, check in CHECKS.items():
        assert check.claim_id == claim_id == get_statement(claim_id).id


def test_a_table_with_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match=r"the kind of benign\.x must be one of tight, .*; got 'maybe'"):
        tabulate("benign", "x | Eq 1 | 3 | maybe\n  Title.")


def test_checks_are_listed_whether_or_not_the_tuple_is_annotated(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, head in (("listed_plain", "CHECKS"), ("listed_typed", "CHECKS: tuple[object, ...]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
        (tmp_path / name / "checks.py").write_text(f'{head} = (Check(claim_id="toy.thm1"),)\n')
        paper = Paper(key="toy", title="T", authors=("A",), venue="V", year=2026, statements=(), package=name)
        assert listed_checks(paper, {"toy.thm1"}) == {"toy.thm1"}


def test_no_statement_announces_its_verdict():
    outcome = re.compile(
        r"\b(false|refuted|wrong|untrue|is true|slip|survives|vacuous(ly)?|does not hold|fails)\b", re.I
    )
    assert [statement.id for statement in STATEMENTS if outcome.search(statement.title)] == []

"""What every experiment owes: its tiny size runs, its figures draw, its checks judge, also on one record."""

import pytest

from karat.report.embed import data_uri
from karat.study.claim import judge_claim
from karat.study.registry import CHECKS, EXPERIMENTS, FIGURES, get_statement


def judged(check, found):
    return judge_claim(get_statement(check.claim_id), check, found, "tiny")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_it_runs_draws_and_is_judged(name, records):
    found = records(name)
    assert [record.error for record in found if record.status != "done"] == []
    for picture in FIGURES[name](found) if name in FIGURES else []:
        assert data_uri(picture.figure).startswith("data:image/png")
        assert picture.caption
    for check in CHECKS.values():
        if check.name != name:
            continue
        for some in (found, found[:1]):  # all of it, and a sweep that has just begun
            claim = judged(check, some)
            assert not claim.error, (check.claim_id, claim.error)
            assert claim.verdict is not None, (check.claim_id, claim.caveat)
            # Two seeds or a few cells may hold no answer, but then they say why.
            assert claim.measured is not None or claim.caveat, check.claim_id


def test_every_experiment_of_purification_and_benign_has_a_figure():
    drawn = [name for name in EXPERIMENTS if name.startswith(("purification.", "benign."))]
    # Two curves over one setting: the default figure shows all there is.
    assert [name for name in drawn if name not in FIGURES] == ["purification.dense_signal"]

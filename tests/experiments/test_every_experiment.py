"""What every experiment owes: its tiny size runs, its figures draw, its checks judge, also on one record."""

import pytest

from karat.claims import CHECKS, get_statement, judge_claim
from karat.experiments import EXPERIMENTS
from karat.report.embed import data_uri
from karat.report.figures import FIGURES

# These checks need images, widths or a curve that the tiny size does not have; they must say so.
WITHOUT_NUMBERS: set[str] = set()


def judged(check, found):
    return judge_claim(get_statement(check.claim_id), check, found, "tiny")


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_it_runs_draws_and_is_judged(name, records):
    found = records(name)
    assert [record.error for record in found if record.status != "done"] == []
    for picture in FIGURES[name](found) if name in FIGURES else []:
        assert data_uri(picture.figure).startswith("data:image/png")
        assert picture.caption
    for check in CHECKS.values():
        if check.experiment != name:
            continue
        claim = judged(check, found)
        assert claim.verdict is not None, (check.claim_id, claim.caveat)
        assert claim.seeds == 2
        if check.claim_id in WITHOUT_NUMBERS:
            assert claim.caveat
        else:
            assert claim.measured is not None, (check.claim_id, claim.caveat)
        assert judged(check, found[:1]).verdict is not None  # a sweep that has just begun


def test_every_experiment_of_purification_and_benign_has_a_figure():
    drawn = [name for name in EXPERIMENTS if name.startswith(("purification.", "benign."))]
    assert [name for name in drawn if name not in FIGURES] == []

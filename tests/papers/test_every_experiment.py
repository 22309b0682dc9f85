"""What every experiment owes: its tiny size runs, its figures draw, its checks judge, also on one record."""

import pytest

from karat.report.embed import data_uri
from karat.study.claim import judge_claim
from karat.study.registry import CHECKS, EXPERIMENTS, FIGURES, get_statement

# These need images, printed settings or a power of ten more neurons than the tiny size has, and say so.
WITHOUT_NUMBERS = {
    "features.tab3",
    "features.tab5",
    "features.fig18",
    "features.fig19",
    "features.fig21",
    "features.fig23",
    "features.fig26",
    "lazy.thm3.1",
    "lazy.lem4.4",
}


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
        if check.name != name:
            continue
        claim = judged(check, found)
        assert claim.verdict is not None, (check.claim_id, claim.caveat)
        assert claim.seeds == 2
        numbers = claim.measured is not None
        assert numbers or (check.claim_id in WITHOUT_NUMBERS and claim.caveat), check.claim_id
        assert judged(check, found[:1]).verdict is not None  # a sweep that has just begun


def test_every_experiment_of_purification_and_benign_has_a_figure():
    drawn = [name for name in EXPERIMENTS if name.startswith(("purification.", "benign."))]
    # Two curves over one setting: the default figure shows all there is.
    assert [name for name in drawn if name not in FIGURES] == ["purification.dense_signal"]

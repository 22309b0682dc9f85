"""What the checks of lazy's lemmas say about the numbers they are given."""

import pytest

from karat.study.registry import CHECKS


@pytest.fixture
def lemmas(make_record):
    """Records by side and seed with the given changes of the gradient."""

    def make(changes):
        return [
            make_record(
                seed, experiment="lazy.lemmas", config={"side": side, "m": 64}, gradient_change=change
            )
            for (side, seed), change in changes.items()
        ]

    return make


def test_shares_of_the_root_are_means_at_the_first_and_the_last_dimension(lemmas):
    changes = {(4, 0): 4.0, (4, 1): 8.0, (8, 0): 80.0, (8, 1): 0.8, (16, 0): 8.0, (16, 1): 24.0}
    caveat = CHECKS["lazy.lem4.4"].evaluate(lemmas(changes)).caveat
    assert "1.50 sqrt d at the smallest and 1.00 sqrt d at the largest dimension" in caveat


@pytest.mark.parametrize(("largest", "word"), [(0.01, "holds, loose by"), (1e3, "violated by")])
def test_the_caveat_of_a_bound_says_what_its_verdict_says(make_record, largest, word):
    config = {"side": 4, "m": 64, "C0": 1.0, "p_fail": 0.1}
    records = [
        make_record(seed, experiment="lazy.lemmas", config=config, can_switch=largest) for seed in (0, 1)
    ]
    finding = CHECKS["lazy.lem4.3"].evaluate(records)
    assert word in finding.caveat
    assert finding.verdict == ("holds" if largest < 1 else "fails")

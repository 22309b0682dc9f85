"""No attack beats a certificate: random small problems of every kind; benchmarks/soundness.py has more."""

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("box", [False, True])
def test_no_grid_point_attack_or_line_crossing_beats_a_bound(soundness, box):
    count = soundness.run(1900, searches=1, seed=11 + box, points=25, box=box)
    assert count["problems"] >= 1900
    assert soundness.violations(count) == 0
    # The bounds are of use, too: every route certifies a good share of these problems.
    for name in ("lipschitz", "relaxation", "slopes", "secant"):
        assert count[f"certified by {name}"] > 0.3 * count["problems"]
    for name in ("quadratic", "intervals", "deep relaxation"):  # for some of the problems only
        assert count[f"certified by {name}"] > 0
    assert count["searches decided"] > 0.85 * count["searches"]
    for name in ("crossings", "invariances", "linear nets", "mixed-integer programs"):
        assert box or count[name] > 0


def test_the_suite_notices_an_unsound_bound(soundness, generator):
    case = soundness.draw_case(0, generator=generator)
    problem = soundness.target_of(case.net, case.x, case.y, case.ball).problem
    lowest, error = soundness.grid_minimum(problem, 25)
    honest = soundness.linear_relaxation(problem)
    assert bool((honest <= lowest + error).all())
    assert not bool((honest + 1.0 + (lowest - honest) <= lowest + error).all())

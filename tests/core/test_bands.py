"""A band covers the whole curve with its stated probability, whatever the dependence of the points."""

import numpy as np
import pytest

from karat.core.bands import simultaneous_band
from karat.core.statistics import t_interval


def test_a_band_of_one_point_is_students_interval():
    values = [0.3, 0.5, 0.45, 0.2]
    band, interval = simultaneous_band([[value] for value in values]), t_interval(values)
    assert (band.low[0], band.high[0]) == pytest.approx((interval.low, interval.high))


def test_more_points_make_it_wider():
    values = np.random.default_rng(0).normal(size=(5, 1))
    wide = simultaneous_band(np.repeat(values, 10, axis=1))
    assert wide.high[0] > simultaneous_band(values).high[0]


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_the_whole_curve_is_covered(correlation):
    generator, worlds, seeds, points = np.random.default_rng(1), 2000, 5, 8
    common = generator.normal(size=(worlds, seeds, 1))
    noise = generator.normal(size=(worlds, seeds, points))
    curves = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * noise
    covered = 0
    for world in curves:
        band = simultaneous_band(world)
        covered += all(low <= 0 <= high for low, high in zip(band.low, band.high, strict=True))
    # A true coverage of .95 is seen below .93 with probability 3e-5 (binomial, 2000 worlds).
    assert covered / worlds > 0.93


@pytest.mark.parametrize("curves", [[[1.0, 2.0]], [], [[1.0, np.nan], [1.0, 2.0]]])
def test_bad_curves_are_refused(curves):
    with pytest.raises(ValueError, match="`curves` must"):
        simultaneous_band(curves)


def test_a_bad_level_is_refused():
    with pytest.raises(ValueError, match="strictly between 0 and 1, got 1"):
        simultaneous_band([[1.0], [2.0]], level=1)

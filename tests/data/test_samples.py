"""The sample container."""

import pytest
import torch

from karat.core.checks import ShapeError
from karat.data import Samples


@pytest.fixture
def samples():
    y_clean = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    flipped = torch.tensor([False, True, False])
    return Samples(
        x=torch.arange(6.0, dtype=torch.float64).reshape(3, 2),
        y=torch.where(flipped, -y_clean, y_clean),
        y_clean=y_clean,
        flipped=flipped,
        z=torch.eye(3, dtype=torch.float64),
        component=torch.tensor([0, 1, 2]),
    )


def test_conversion_changes_floats_only(samples):
    single = samples.to(torch.float32)
    assert {single.x.dtype, single.y.dtype, single.y_clean.dtype, single.z.dtype} == {torch.float32}
    assert single.flipped.dtype == torch.bool
    assert single.component.dtype == torch.int64


@pytest.mark.parametrize("index", [slice(1, 3), torch.tensor([1, 2]), torch.tensor([False, True, True])])
def test_taking_rows_takes_them_from_every_field(samples, index):
    part = samples.take(index)
    assert len(part) == 2
    assert part.x.tolist() == [[2, 3], [4, 5]]
    assert (part.y.tolist(), part.y_clean.tolist()) == ([1, 1], [-1, 1])
    assert part.flipped.tolist() == [True, False]
    assert (part.z.argmax(dim=1).tolist(), part.component.tolist()) == ([1, 2], [1, 2])


def test_a_clean_sample_without_code_stays_so():
    plain = Samples.clean(torch.zeros(2, 1), torch.tensor([1.0, -1.0])).to(torch.float64).take(slice(0, 1))
    assert plain.z is None
    assert plain.component is None
    assert not plain.flipped.any()


def test_labels_other_than_signs_are_refused():
    with pytest.raises(ValueError, match=r"`y` must hold the labels \+1 and -1 only, got \[0\.0, 1\.0\]"):
        Samples.clean(torch.zeros(2, 1), torch.tensor([0.0, 1.0]))


def test_flips_that_contradict_the_labels_are_refused(samples):
    with pytest.raises(ValueError, match="`flipped` of `Samples` must be true exactly where `y` differs"):
        Samples(x=samples.x, y=samples.y, y_clean=samples.y, flipped=samples.flipped)


def test_a_code_with_the_wrong_number_of_rows_is_refused(samples):
    with pytest.raises(ShapeError, match=r"`z` must have shape \(3, \*\), got \(2, 2\)\."):
        Samples.clean(samples.x, samples.y, z=torch.eye(2))

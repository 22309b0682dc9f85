"""The page of a probe: complete, self-contained, safe to open."""

import html
import re

import numpy as np
import pytest
import torch
from torch import nn

import karat
from karat.report.typeset import typeset
from karat.yours import ProbeSettings
from karat.yours.probe.mosaics import mosaic, ranged, signed

TINY = ProbeSettings.tiny()


@pytest.fixture
def page(outside, tmp_path):
    def write(before, after, data, **names):
        found = karat.probe(before, after, data, settings=TINY)
        path = found.write(tmp_path / "page", names)
        assert path.name == "probe.html"
        return found, html.unescape(path.read_text(encoding="utf-8"))

    return write


@pytest.mark.slow
def test_every_sentence_number_and_threshold_is_on_the_page(outside, page):
    before = outside.make(outside.vgg, 0)
    found, text = page(before, outside.near(before, 0.3), outside.inputs(outside.vgg))
    for sentence in found.summary:
        assert typeset(sentence.text) in text
        for item in sentence.evidence:
            assert typeset(item.name) in text
    for layer in found.layers:
        assert f'<span class="id">{layer.name}</span>' in text
    for note in found.notes:
        assert note in text


@pytest.mark.slow
def test_a_net_on_vectors_without_rectifiers_has_a_page(page):
    def make(seed):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1))

    x = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))
    found, text = page(make(0), make(1), (x, x[:, 0].sign()))
    assert found.gates == ()
    assert "no rectifier that karat knows" in text
    assert 'id="activity"' not in text


@pytest.mark.slow
def test_names_of_the_user_are_escaped(outside, tmp_path):
    before = outside.make(outside.perceptron, 0)
    found = karat.probe(before, before, outside.inputs(outside.perceptron), settings=TINY)
    text = found.write(tmp_path, {"before": "<script>alert(1)</script>"}).read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"(src|href)=\"(?!data:|#)", text)


@pytest.mark.slow
def test_dollar_signs_in_layer_names_are_no_formulas(page):
    def make(seed):
        torch.manual_seed(seed)
        net = nn.Sequential()
        net.add_module(r"$\frac$", nn.Linear(5, 4))
        net.add_module(r"a$\sqrt$", nn.ReLU())
        net.add_module("$$", nn.Linear(4, 1))
        return net

    x = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))
    found, text = page(make(0), make(1), (x, x[:, 0].sign()))
    assert [layer.name for layer in found.layers] == [r"$\frac$", "$$"]
    assert '<span class="id">$$</span>' in text


def test_mosaics_have_a_row_per_name_and_signed_pictures_lie_around_grey():
    pictures = np.random.default_rng(0).normal(size=(5, 4, 4, 3))
    shown = signed(pictures)
    assert all(picture.min() >= 0 and picture.max() <= 1 for picture in shown)
    assert max(abs(shown[0] - 0.5).max(), 0) == pytest.approx(0.5)
    assert len(mosaic({"before": shown, "after": shown}).axes) == 2
    stretched = np.stack(ranged(pictures))
    assert (stretched.min(), stretched.max()) == (0, 1)
    assert ranged(np.full((1, 2, 2, 1), 0.25))[0][0, 0, 0] == 0.25


def test_signed_keeps_a_zero_picture_grey():
    assert np.all(signed(np.zeros((1, 2, 2, 1)))[0] == 0.5)

"""`karat.probe` on architectures that karat did not write."""

import json
import math

import pytest
import torch
from torch import nn

import karat
from karat.nets.weight_layers import weight_layers
from karat.yours import ProbeSettings
from karat.yours.probe.comparison import compared

pytestmark = pytest.mark.slow

TINY = ProbeSettings.tiny()


def run(outside, kind, **options):
    before = outside.make(kind, 0)
    after = outside.near(before, 0.3)
    start = outside.make(kind, 1)
    settings = options.pop("settings", TINY)
    return before, after, karat.probe(
        before, after, outside.inputs(kind), init=start, settings=settings, **options
    )  # fmt: skip


@pytest.fixture(scope="module")
def probes():
    return {}


@pytest.fixture
def probed(outside, probes):
    """Probe each architecture once for all tests."""

    def get(name):
        if name not in probes:
            probes[name] = run(outside, getattr(outside, name))
        return probes[name]

    return get


NAMES = ("perceptron", "vgg", "residual", "transformer")


@pytest.mark.parametrize("name", NAMES)
def test_every_architecture_is_probed(probed, name):
    before, _, found = probed(name)
    assert {layer.name for layer in found.layers} == {layer.name for layer in weight_layers(before)}
    assert all(
        0.9 < layer.theta <= 1 and layer.relative == pytest.approx(0.3, rel=0.01) for layer in found.layers
    )
    assert len(found.gates) == {"perceptron": 2, "vgg": 3, "residual": 3, "transformer": 2}[name]
    assert set(found.kernels.drifts) == {"before -> after", "start -> before", "start -> after"}
    assert found.rebuilding
    assert {net.smoothed is not None for net in found.robustness} == {True}
    assert len(found.summary) >= 8


@pytest.mark.parametrize("name", NAMES)
def test_json_is_strict_and_complete(probed, name):
    found = probed(name)[2]
    values = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert len(values["layers"]) == len(found.layers)
    assert values["layers"][0]["theta"] == pytest.approx(found.layers[0].theta)
    assert {"setting", "summary", "gates", "kernels", "robustness", "versus", "transfer", "densities"} <= set(
        values
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_follows_from_shown_numbers(probed, name):
    found = probed(name)[2]
    for sentence in found.summary:
        asked = [item for item in sentence.evidence if item.relation]
        assert asked, sentence.topic
        if sentence.answer == "yes":
            assert all(item.holds for item in asked), sentence.topic
        if sentence.answer == "unknown":
            assert any(math.isnan(item.value) for item in asked), sentence.topic


def test_nets_are_left_as_they_were(outside):
    before = outside.make(outside.residual, 0).train()
    before.norm.eval()
    before.stem.weight.requires_grad_(False)
    after = outside.near(before, 0.1)
    state = {name: tensor.clone() for name, tensor in before.state_dict().items()}
    karat.probe(before, after, outside.inputs(outside.residual), settings=TINY)
    assert before.training
    assert not before.norm.training
    assert not before.stem.weight.requires_grad
    assert before.first.weight.requires_grad
    assert all(torch.equal(tensor, state[name]) for name, tensor in before.state_dict().items())


def test_train_mode_is_probed_as_eval_mode(outside):
    net, data = outside.make(outside.residual, 0), outside.inputs(outside.residual)
    with compared(net.train(), net, data, None, None) as comparison:
        margins = comparison.before.classifier.margin(comparison.x, comparison.y)
    x, y = data
    logits = net.eval()(x).detach()
    wanted = logits[torch.arange(len(y)), y] - logits[torch.arange(len(y)), 1 - y]
    torch.testing.assert_close(margins, wanted)


def test_accuracies_agree_with_the_model_itself(outside, probed):
    before, _, found = probed("vgg")
    x, y = outside.inputs(outside.vgg)
    chosen = torch.linspace(0, len(x) - 1, TINY.samples, dtype=torch.float64).long()
    right = before.eval()(x[chosen]).argmax(dim=1) == y[chosen]
    assert found.robustness[0].clean.value == pytest.approx(float(right.double().mean()))
    for net in found.robustness:
        assert net.attacked.value <= net.clean.value


def test_the_bracket_of_a_small_net_is_ordered(probed):
    found = probed("perceptron")[2]
    for net in found.robustness:
        assert net.proven is not None
        assert net.proven.value <= net.left.value
        assert "relaxation" in net.certificate


def test_nets_without_a_certificate_say_why(probed):
    words = {name: probed(name)[2].robustness[0].certificate for name in ("vgg", "residual")}
    assert "MaxPool2d" in words["vgg"]
    assert "Residual" in words["residual"]
    assert probed("vgg")[2].robustness[0].proven is None


def test_tuples_are_read_by_their_first_tensor(probed):
    notes = probed("transformer")[2].notes
    assert any("the first tensor was taken" in note for note in notes)


def test_equal_checkpoints_show_no_change(outside):
    net = outside.make(outside.vgg, 0)
    found = karat.probe(net, net, outside.inputs(outside.vgg), settings=TINY)
    assert all(layer.theta == pytest.approx(1) and layer.frobenius == 0 for layer in found.layers)
    assert all(gate.changed == 0 for gate in found.gates)
    assert found.kernels.drifts["before -> after"].alignment == pytest.approx(1)
    assert found.versus.p_value == 1
    answers = {sentence.topic: sentence.answer for sentence in found.summary}
    assert answers["more robust"] == "unclear"
    assert answers["features purified"] == "no"
    assert answers["start forgotten"] == "unknown"
    assert answers["left the lazy regime"] == "unknown"


def test_without_the_start_its_angles_are_unknown(outside):
    before = outside.make(outside.perceptron, 0)
    found = karat.probe(before, outside.near(before, 0.2), outside.inputs(outside.perceptron), settings=TINY)
    assert all(math.isnan(layer.start_before) for layer in found.layers)
    assert any("A fresh draw from the model's factory is another start" in note for note in found.notes)
    assert found.leftover is None


def test_transfer_rates_agree_with_a_count_by_hand(outside):
    from karat.attacks import judge
    from karat.yours.probe.perturbations import strongest_deltas, transfer_rates

    torch.manual_seed(0)
    x = torch.randn(60, 4)
    y = x[:, 0].sign()
    before, after = nn.Linear(4, 1, bias=False), nn.Linear(4, 1, bias=False)
    before.weight.data = torch.tensor([[1.0, 0.3, 0.0, 0.0]])
    after.weight.data = torch.tensor([[1.0, 0.0, 0.5, 0.0]])
    ball, settings = karat.Ball(2, 0.4), ProbeSettings(samples=60)
    with compared(before, after, (x, y), None, None) as comparison:
        deltas = strongest_deltas(comparison, ball, settings, torch.Generator().manual_seed(0))
        rates = transfer_rates(comparison, deltas, ball, settings)
        both = (comparison.before.classifier.margin(x, y) > 0) & (
            comparison.after.classifier.margin(x, y) > 0
        )
        on_before = judge(comparison.before.classifier, x, y, deltas["before"], ball).success
        on_after = judge(comparison.after.classifier, x, y, deltas["before"], ball).success
    flipped = both & on_before
    assert rates.before_count == int(flipped.sum()) > 0
    assert rates.before_to_after == pytest.approx(float(on_after[flipped].double().mean()))


def test_karat_nets_are_probed_too():
    x = torch.randn(20, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    nets = [karat.nets.init.pytorch_default(5, 7, generator=torch.Generator().manual_seed(k)) for k in (1, 2)]
    found = karat.probe(*nets, (x, x[:, 0].sign()), karat.Ball("inf", 0.1), settings=TINY)
    assert found.layers[0].m == 7
    assert found.robustness[0].proven is not None
    assert found.setting["described_radius"] == pytest.approx(0.1 * math.sqrt(5))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"data": "faces"}, ValueError, "data are a file"),
        ({"data": 3}, TypeError, r"must be \(x, y\), a file or the name of a set"),
        ({"data": (torch.ones(4, 12), torch.ones(3))}, ValueError, r"must be x \(n, ...\) and y \(n,\)"),
        ({"data": (torch.ones(4, 13), torch.ones(4))}, ValueError, r"cannot take inputs of shape \(13,\)"),
        ({"data": (torch.full((4, 12), torch.nan), torch.ones(4))}, ValueError, "finite numbers"),
        ({"data": (torch.ones(4, 12), torch.tensor([0, 1, 2, 3]))}, ValueError, "needs labels"),
        ({"after": nn.Linear(12, 1)}, ValueError, "same layers of the same sizes"),
        ({"after": nn.Linear(12, 2)}, ValueError, "equally many outputs"),
        ({"after": nn.ReLU()}, ValueError, "`after` of `probe` has no layer with weights"),
        ({"after": 5}, TypeError, "`after` of `probe` must be a torch.nn.Module"),
        ({"image": (1, 5, 5)}, ValueError, "`image` of `probe` must be"),
    ],
)
def test_bad_input_is_one_sentence(outside, change, error, message):
    before = outside.make(outside.perceptron, 0)
    data = outside.inputs(outside.perceptron)
    arguments = {
        "before": before,
        "after": outside.near(before, 0.1),
        "data": data,
        "settings": TINY,
    } | change
    with pytest.raises(error, match=message):
        karat.probe(**arguments)


def test_weights_that_are_nan_are_named(outside):
    before = outside.make(outside.perceptron, 0)
    after = outside.near(before, 0.1)
    after.body[2].weight.data[0, 0] = torch.inf
    with pytest.raises(
        ValueError, match=r"`body.2.weight` of `after` holds 1 numbers that are NaN or infinite"
    ):
        karat.probe(before, after, outside.inputs(outside.perceptron), settings=TINY)


class Moody(nn.Module):
    """Calls another rectifier once its weights are large: its patterns cannot be compared."""

    def __init__(self, size):
        super().__init__()
        self.first, self.last = nn.Linear(12, 6), nn.Linear(6, 1)
        with torch.no_grad():
            self.first.weight.fill_(size).view(-1)[::2] *= -1

    def forward(self, x):
        x = torch.relu(self.first(x))
        return self.last(torch.relu(x) if self.first.weight.abs().max() > 1 else x)


def test_what_a_module_does_not_allow_is_noted_and_the_rest_measured(outside):
    found = karat.probe(Moody(0.5), Moody(2.0), outside.inputs(outside.perceptron), settings=TINY)
    assert found.gates == ()
    assert (
        "Activation patterns could not be measured: the two nets must call the same rectifiers"
        in found.notes[0]
    )
    assert len(found.layers) == 2
    assert not any("no rectifier that karat knows" in note for note in found.notes)


def test_the_listener_hears_every_stage(outside):
    heard = []
    run(outside, outside.perceptron, listener=lambda *news: heard.append(news))
    assert heard[0] == ("weights", 0, 8)
    assert heard[-1] == ("pictures", 8, 8)


def test_the_same_seed_gives_the_same_numbers(outside):
    values = [run(outside, outside.perceptron)[2].to_json() for _ in range(2)]
    for value in values:
        value.pop("seconds")
    assert values[0] == values[1]


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [
        (("yes", "yes", "yes", "yes"), "yes"),
        (("yes", "yes", "unknown", "yes"), "unclear"),
        (("yes", "yes", "no", "yes"), "unclear"),
        (("yes", "unclear", "no", "yes"), "no"),
        (("unclear", "yes", "yes", "yes"), "no"),
    ],
)
def test_purification_needs_its_signs_and_robustness_first(answers, wanted):
    from karat.yours.probe.sentences.attacks import SIGNS, purified
    from karat.yours.probe.sentences.sentence import Sentence

    parts = [
        Sentence(topic=topic, answer=answer, text="", evidence=())
        for topic, answer in zip(SIGNS, answers, strict=True)
    ]
    found = purified(parts)
    assert found.answer == wanted
    for topic, answer in zip(SIGNS, answers, strict=True):
        assert (topic in found.text) == (answer != "yes")


@pytest.mark.parametrize(
    ("error", "wanted"), [(0.05, "no"), (0.3, "unclear"), (0.9, "yes"), (math.nan, "unknown")]
)
def test_the_regime_follows_from_the_linearisation(probed, error, wanted):
    from karat.yours.probe.sentences.training import regime

    found = probed("perceptron")[2]
    pairs = dict.fromkeys(found.kernels.linearised, error)
    assert regime(pairs, found.kernels.drifts, found.layers).answer == wanted


def test_smoothness_alone_is_not_sparser_reconstruction():
    from karat.yours.probe.rebuilding import BLURRED, Rebuilding
    from karat.yours.probe.sentences.attacks import sparse_rebuilding

    def answer(**needed):
        needed = {BLURRED if name == "blurred" else name: value for name, value in needed.items()}
        entries = [
            Rebuilding(dictionary=name, atoms=9, nonzeros=[], errors=[], needed=[value, 0, 0], gap=0)
            for name, value in needed.items()
        ]
        return sparse_rebuilding(entries).answer

    assert answer(before=400.0, after=200.0, blurred=300.0) == "yes"
    assert answer(before=400.0, after=200.0, blurred=190.0) == "unclear"
    assert answer(before=400.0, after=380.0, blurred=300.0) == "no"
    assert answer(before=math.inf, after=200.0, blurred=math.inf) == "yes"
    assert answer(before=math.inf, after=math.inf, blurred=300.0) == "unknown"
    assert answer(before=400.0, after=200.0) == "yes"

"""Training of image networks: the update rule, frozen parts, exact resuming, divergence."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from karat.core.divergence import Diverged
from karat.core.tensor_files import FileError
from karat.nets.networks import build_network
from karat.training.images.attackers import ImageAttacker, named_attacker
from karat.training.images.training import ImageTraining, training_mode

PLAN = ImageTraining(epochs=3, lr=0.05, weight_decay=5e-4, batch_size=8, attack_warmup=1)


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def images():
    x = torch.rand(24, 3, 32, 32, generator=_generator(9))
    return x, torch.arange(24) % 2


def _net(name="alexnet:0.05"):
    return build_network(name, 2, generator=_generator(1))


def _weights(net):
    return {name: tensor.clone() for name, tensor in net.state_dict().items()}


def _equal(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


def test_one_step_is_momentum_sgd_with_weight_decay(images):
    x, labels = images
    net, twin = _net(), _net()
    plan = ImageTraining(epochs=2, lr=0.1, weight_decay=0.01, batch_size=24, warmup=0.0, augment="none")
    plan.run(net, x, labels, generator=_generator())
    velocity = [torch.zeros_like(p) for p in twin.parameters()]
    for lr in (0.1, 0.05):  # half a cosine over two steps
        loss = nn.functional.cross_entropy(twin(x), labels)
        gradients = torch.autograd.grad(loss, list(twin.parameters()))
        for v, p, g in zip(velocity, twin.parameters(), gradients, strict=True):
            v.mul_(0.9).add_(g + 0.01 * p.detach())
            p.data.sub_(lr * v)
    for a, b in zip(net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_an_attacker_of_radius_zero_is_clean_training(images):
    x, labels = images
    clean, attacked = _net(), _net()
    plan = ImageTraining(epochs=1, lr=0.05, weight_decay=0.0, batch_size=8, augment="none")
    plan.run(clean, x, labels, generator=_generator())
    none = replace(named_attacker("linf:8"), tau=0.0)
    replace(plan, attacker=none).run(attacked, x, labels, generator=_generator())
    assert _equal(_weights(clean), _weights(attacked))


def test_the_attack_leaves_norms_and_gradients_as_they_were(images):
    x, labels = images
    net = _net("resnet:2")
    net.stem.weight.requires_grad_(False)
    training_mode(net)
    before = _weights(net)
    moved, truth = named_attacker("l2:1:0.25").copies(net, x, labels, generator=_generator())
    assert _equal(before, _weights(net))
    assert moved.shape == (48, 3, 32, 32)
    assert torch.equal(truth, labels.repeat(2))
    assert all(p.grad is None for p in net.parameters())
    assert not net.stem.weight.requires_grad
    assert net.head.weight.requires_grad
    assert net.head_norm.training


def test_the_radius_grows_over_the_warm_up(images, monkeypatch):
    shares = []
    copies = ImageAttacker.copies

    def noting(self, *given, share=1.0, **more):
        shares.append(share)
        return copies(self, *given, share=share, **more)

    monkeypatch.setattr(ImageAttacker, "copies", noting)
    plan = replace(PLAN, epochs=2, attacker=named_attacker("linf:8@1"))
    plan.run(_net(), *images, generator=_generator())
    assert shares == pytest.approx([0, 1 / 3, 2 / 3, 1, 1, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "attacker"), [("alexnet:0.05", "l2:1:0.25"), ("resnet:2", "linf:8@2"), ("alexnet:0.05", None)]
)
def test_interrupted_and_resumed_equals_uninterrupted_bit_for_bit(name, attacker, images, tmp_path):
    x, labels = images
    plan = replace(PLAN, attacker=None if attacker is None else named_attacker(attacker))
    whole = _net(name)
    curve = plan.run(whole, x, labels, generator=_generator(3), observe=lambda t, net: {"t": t})

    def stop(epoch, module):
        if epoch == 2:
            raise KeyboardInterrupt
        return {"t": epoch}

    file = tmp_path / "run" / "state.pt"
    with pytest.raises(KeyboardInterrupt):
        plan.run(_net(name), x, labels, generator=_generator(3), observe=stop, checkpoint=file)
    resumed = build_network(name, 2, generator=_generator(77))
    generator = _generator(78)
    again = plan.run(
        resumed, x, labels, generator=generator, observe=lambda t, net: {"t": t}, checkpoint=file
    )
    assert _equal(_weights(whole), _weights(resumed))
    assert again == curve
    assert [row["epoch"] for row in again] == [0, 1, 2, 3]


def test_a_finished_training_is_not_run_again_and_its_generator_goes_on(images, tmp_path):
    x, labels = images
    first, second = _generator(3), _generator(99)
    net = _net()
    PLAN.run(net, x, labels, generator=first, checkpoint=tmp_path / "a.pt")
    other = build_network("alexnet:0.05", 2, generator=_generator(5))
    PLAN.run(other, x, labels, generator=second, checkpoint=tmp_path / "a.pt")
    assert _equal(_weights(net), _weights(other))
    assert torch.equal(first.get_state(), second.get_state())


def test_checkpoints_open_without_code_and_leave_no_parts_behind(images, tmp_path):
    x, labels = images
    net = _net()
    PLAN.run(net, x, labels, generator=_generator(), checkpoint=tmp_path / "a.pt")
    assert [file.name for file in tmp_path.iterdir()] == ["a.pt"]
    state = torch.load(tmp_path / "a.pt", weights_only=True)
    assert _equal(_weights(net), state["state_dict"])


def test_a_checkpoint_of_another_plan_or_another_file_is_refused(images, tmp_path):
    x, labels = images
    PLAN.run(_net(), x, labels, generator=_generator(), checkpoint=tmp_path / "a.pt")
    with pytest.raises(FileError, match="belongs to another training"):
        replace(PLAN, lr=0.1).run(_net(), x, labels, generator=_generator(), checkpoint=tmp_path / "a.pt")
    torch.save({"state_dict": {}}, tmp_path / "b.pt")
    with pytest.raises(FileError, match="is no checkpoint of a training"):
        PLAN.run(_net(), x, labels, generator=_generator(), checkpoint=tmp_path / "b.pt")


def test_frozen_parts_stay_bit_for_bit_with_their_statistics(images):
    x, labels = images
    net = _net("resnet:2")
    for part in (net.stem, net.stages[0]):
        part.requires_grad_(False)
    before = _weights(net)
    PLAN.run(net, x, labels, generator=_generator())
    after = _weights(net)
    frozen = [name for name in before if name.startswith(("stem.", "stages.0."))]
    assert len(frozen) > 10
    assert all(torch.equal(before[name], after[name]) for name in frozen)
    assert not torch.equal(before["stages.1.0.norm1.running_mean"], after["stages.1.0.norm1.running_mean"])
    assert not torch.equal(before["head.weight"], after["head.weight"])


@pytest.mark.slow
def test_adversarial_training_separates_what_the_attack_can_nearly_join():
    """Classes at brightness 0.4 and 0.6, attacked by 8/255: both losses fall below 0.3."""
    x = torch.full((32, 3, 16, 16), 0.4)
    x[::2] += 0.2
    labels = torch.arange(32) % 2
    for attacker in (None, named_attacker("linf:8@3")):
        plan = ImageTraining(
            epochs=4, lr=0.05, weight_decay=0.0, batch_size=8, attacker=attacker, augment="none"
        )
        net = _net("resnet:2")
        curve = plan.run(net, x, labels, generator=_generator())
        assert curve[-1]["loss"] < 0.3 < curve[1]["loss"]


def test_idle_weights_shrink_by_the_decay_exponent(images):
    """A net whose loss does not see its weights: only the decay moves them, momentum ringing out slowly."""
    x, labels = images

    class Idle(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, x):
            return 0 * self.weight * x.mean(dim=(1, 2, 3)).unsqueeze(1).expand(-1, 2)

    net = Idle()
    plan = ImageTraining(epochs=60, lr=0.2, weight_decay=0.05, momentum=0.5, batch_size=24, augment="none")
    plan.run(net, x, labels, generator=_generator())
    assert -math.log(float(net.weight.detach())) == pytest.approx(plan.decay_exponent(24), rel=0.05)


def test_exploding_training_is_diverged(images):
    x, labels = images
    plan = ImageTraining(epochs=5, lr=1e12, weight_decay=0.0, batch_size=8, warmup=0.0)
    with pytest.raises(Diverged, match="the training loss is not finite"):
        plan.run(_net(), x, labels, generator=_generator())


def test_steps_fall_after_their_epochs():
    plan = ImageTraining(epochs=150, lr=0.1, weight_decay=0.0, schedule="steps", milestones=(40, 90))
    rate = plan.rate(10)
    assert [round(rate(t), 6) for t in (0, 399, 400, 899, 900)] == [0.1, 0.1, 0.01, 0.01, 0.001]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": -1}, "`epochs` of `ImageTraining` must be a whole number >= 0"),
        ({"lr": 0.0}, "`lr` of `ImageTraining` must be a finite number > 0"),
        ({"schedule": "linear"}, "`schedule` of `ImageTraining` must be one of 'cosine', 'steps'"),
        ({"augment": "rotate"}, "`augment` of `ImageTraining` must be one of 'none', 'crop', 'crop.flip'"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        replace(PLAN, **settings)


def test_a_net_with_nothing_to_train_is_refused(images):
    net = _net().requires_grad_(False)
    with pytest.raises(ValueError, match="has no parameter that asks for a gradient"):
        PLAN.run(net, *images, generator=_generator())

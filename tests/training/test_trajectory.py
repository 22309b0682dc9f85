import pickle

import pytest
import torch

from karat.attacks import PGD
from karat.core import Ball
from karat.training import Adversary, Constant, Snapshot, StepDecay, Trainer, TwoInfBall

PGD_START = Adversary(PGD(steps=2, random_start=True), Ball(2, 0.2))

SETTINGS = {
    "full batch": {},
    "stochastic": {"batch_size": 5},
    "momentum": {"momentum": 0.9, "lr": StepDecay(0.2, 0.5, 4)},
    "random attack": {"adversary": PGD_START},
    "everything": {"batch_size": 5, "momentum": 0.9, "adversary": PGD_START},
}
STEPS = 11


@pytest.fixture(params=SETTINGS)
def trainer(request):
    return Trainer(**({"lr": Constant(0.1), "trainable": ("W", "a", "b", "c")} | SETTINGS[request.param]))


@pytest.fixture
def recorded(trainer, two_layer, data):
    """Run a trainer and return the trajectory with every net on the way."""

    def run(steps=STEPS, **options):
        nets = {}
        trajectory = trainer.run(
            two_layer,
            *data,
            steps=steps,
            generator=torch.Generator().manual_seed(6),
            observe=lambda t, net: nets.update({t: net}) or {"t": t},
            **options,
        )
        return trajectory, nets

    return run


@pytest.mark.parametrize("keep", [(), (3, 7, STEPS)], ids=["no snapshots", "snapshots"])
def test_replay_returns_every_net_to_the_last_bit(recorded, keep, same):
    trajectory, nets = recorded(keep=keep)
    assert [s.step for s in trajectory.snapshots] == [0, *keep]
    # Backwards and repeatedly: a replay disturbs neither the trajectory nor the next replay.
    for t in [*reversed(range(STEPS + 1)), 7, 7]:
        assert same(trajectory.replay(t), nets[t])
    assert same(trajectory.net, nets[STEPS])


def test_replay_survives_pickling(recorded, same):
    trajectory, nets = recorded(keep=(4,))
    assert same(pickle.loads(pickle.dumps(trajectory)).replay(6), nets[6])


def test_training_in_two_parts_equals_training_at_once(trainer, recorded, data, same):
    whole, nets = recorded()
    half, _ = recorded(steps=5)
    # No generator is passed: the snapshot remembers where the first part's stood.
    rest = trainer.resume(half.final, *data, steps=STEPS)
    assert same(rest.net, whole.net)
    assert same(rest.replay(8), nets[8])
    with pytest.raises(ValueError, match=r"^`step` of `replay` must lie in 5\.\.11, got 3\.$"):
        rest.replay(3)


def test_a_given_generator_goes_before_the_remembered_one(two_layer, data, same):
    trainer = Trainer(lr=Constant(0.1), batch_size=5)
    half = trainer.run(two_layer, *data, steps=4, generator=torch.Generator().manual_seed(6))
    nets = [
        trainer.resume(half.final, *data, steps=9, generator=torch.Generator().manual_seed(seed)).net
        for seed in (1, 1, 2)
    ]
    assert same(nets[0], nets[1])
    assert not same(nets[0], nets[2])


def test_a_later_stage_may_train_more_parameters(two_layer, data):
    """Momentum starts at zero for parameters that the first stage did not train."""
    first = Trainer(lr=Constant(0.1), trainable=("W",), momentum=0.9).run(two_layer, *data, steps=3)
    second = Trainer(lr=Constant(0.1), trainable=("W", "a"), momentum=0.9)
    net = second.resume(first.final, *data, steps=4).net
    alone = Trainer(lr=Constant(0.1), trainable=("a",)).run(first.net, *data, steps=1).net
    assert torch.equal(net.a, alone.a)


def test_a_later_stage_may_use_other_samples(two_layer, data, generator):
    x, y = data
    trainer = Trainer(lr=Constant(0.1), batch_size=2)
    first = trainer.run(two_layer, x, y, steps=2, generator=generator)
    second = trainer.resume(first.final, x[:7], y[:7], steps=9)
    assert second.divergence is None
    assert second.final.step == 9


def test_resuming_backwards_is_refused(two_layer, data):
    trainer = Trainer(lr=Constant(0.1))
    final = trainer.run(two_layer, *data, steps=4).final
    with pytest.raises(ValueError, match=r"^`steps` of `Trainer` must be a whole number >= 4, got 3\.$"):
        trainer.resume(final, *data, steps=3)


@pytest.mark.parametrize("step", [-1, 6])
def test_replay_outside_the_run_is_refused(two_layer, data, step):
    trajectory = Trainer(lr=Constant(0.1)).run(two_layer, *data, steps=5)
    with pytest.raises(ValueError, match=rf"^`step` of `replay` must lie in 0\.\.5, got {step}\.$"):
        trajectory.replay(step)


def test_a_curve_lists_one_measurement_over_its_steps(two_layer, data):
    def observe(step, net):
        return {"square": step**2} | ({"late": True} if step > 2 else {})

    trajectory = Trainer(lr=Constant(0.1)).run(
        two_layer, *data, steps=4, observe=observe, observe_at=range(1, 5)
    )
    assert trajectory.curve("square") == ([1, 2, 3, 4], [1, 4, 9, 16])
    assert trajectory.curve("late") == ([3, 4], [True, True])
    assert trajectory.curve("nothing") == ([], [])


def test_snapshots_beyond_the_run_are_not_kept(two_layer, data):
    trajectory = Trainer(lr=Constant(0.1)).run(two_layer, *data, steps=3, keep=(0, 2, 3, 50))
    assert [s.step for s in trajectory.snapshots] == [0, 2, 3]


def test_projected_runs_replay_too(two_layer, data, same):
    trainer = Trainer(lr=Constant(1.0), projection=TwoInfBall(two_layer.W, 0.01))
    nets = []
    trajectory = trainer.run(two_layer, *data, steps=5, observe=lambda t, net: nets.append(net) or {})
    assert all(same(trajectory.replay(t), nets[t]) for t in range(6))


def test_a_snapshot_remembers_where_a_generator_stands(two_layer):
    generator = torch.Generator().manual_seed(9)
    snapshot = Snapshot(0, two_layer).with_generator(generator)
    expected = torch.rand(3, generator=generator)
    for _ in range(2):
        assert torch.equal(torch.rand(3, generator=snapshot.generator()), expected)
    assert Snapshot(0, two_layer).generator() is None

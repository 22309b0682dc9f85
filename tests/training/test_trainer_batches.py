"""Batches of the trainer, and those who watch it."""

import itertools

import pytest
import torch

from karat.attacks import PGD
from karat.core import Ball
from karat.nets import Linear
from karat.training import Adversary, Constant, Trainer

LR = Constant(0.1)


def indexed(n, dtype=torch.float64):
    """Samples whose only coordinate is their number."""
    return torch.arange(n, dtype=dtype).unsqueeze(1), torch.ones(n, dtype=dtype)


def batches(n, batch_size, steps, seed, recorder):
    trainer = Trainer(
        lr=Constant(0.0), trainable=("w",), batch_size=batch_size, adversary=Adversary(recorder, Ball(2, 0.0))
    )
    net = Linear(torch.zeros(1, dtype=torch.float64))
    trainer.run(net, *indexed(n), steps=steps, generator=torch.Generator().manual_seed(seed))
    taken = [batch.squeeze(1).int().tolist() for batch in recorder.seen]
    recorder.seen.clear()
    return taken, trainer.steps_per_epoch(n)


def test_an_epoch_shows_every_sample_once(recorder):
    taken, per_epoch = batches(12, 4, 9, 0, recorder)
    assert per_epoch == 3
    for epoch in range(3):
        shown = list(itertools.chain(*taken[3 * epoch : 3 * epoch + 3]))
        assert sorted(shown) == list(range(12))
    assert taken[:3] != taken[3:6]


def test_samples_left_over_at_the_end_of_an_epoch_are_skipped_in_it(recorder):
    taken, per_epoch = batches(11, 4, 20, 0, recorder)
    assert per_epoch == 2
    skipped = set()
    for epoch in range(10):
        shown = list(itertools.chain(*taken[2 * epoch : 2 * epoch + 2]))
        assert len(shown) == len(set(shown)) == 8
        skipped |= set(range(11)) - set(shown)
    # Not the same ones every time: 3 of 11 are skipped in each of 10 epochs.
    assert len(skipped) > 3


def test_batches_are_reproducible_and_depend_on_the_seed(recorder):
    first, again, other = (batches(12, 4, 6, seed, recorder)[0] for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize("batch_size", [12, 50])
def test_a_batch_that_holds_all_samples_is_the_full_batch(two_layer, data, generator, batch_size, same):
    stochastic = Trainer(lr=LR, batch_size=batch_size)
    assert stochastic.steps_per_epoch(12) == 1
    full = Trainer(lr=LR).run(two_layer, *data, steps=3).net
    assert same(stochastic.run(two_layer, *data, steps=3, generator=generator).net, full)


def test_a_stochastic_step_is_a_step_on_its_batch(two_layer, data, recorder):
    x, y = data
    trainer = Trainer(lr=LR, batch_size=5, adversary=Adversary(recorder, Ball(2, 0.0)))
    net = trainer.run(two_layer, x, y, steps=1, generator=torch.Generator().manual_seed(0)).net
    rows = [int((x == row).all(dim=1).nonzero()) for row in recorder.seen[0]]
    torch.testing.assert_close(net.W, Trainer(lr=LR).run(two_layer, x[rows], y[rows], steps=1).net.W)


def test_the_observer_is_called_at_the_asked_steps_with_the_net_of_that_step(two_layer, data, same):
    seen = {}
    trainer = Trainer(lr=LR)

    def observe(step, net):
        seen[step] = net
        return {"size": net.W.norm().item()}

    trajectory = trainer.run(two_layer, *data, steps=5, observe=observe, observe_at=[0, 2, 5, 9])
    assert list(seen) == [0, 2, 5]
    assert [step for step, _ in trajectory.measurements] == [0, 2, 5]
    assert seen[0] is two_layer
    assert same(seen[2], trainer.run(two_layer, *data, steps=2).net)
    assert seen[5] is trajectory.net


def test_watching_does_not_change_training(two_layer, data, same):
    trainer = Trainer(lr=LR, batch_size=5, adversary=Adversary(PGD(steps=2, random_start=True), Ball(2, 0.1)))
    nets = [
        trainer.run(
            two_layer,
            *data,
            steps=6,
            generator=torch.Generator().manual_seed(4),
            observe=observe,
            keep=keep,
        ).net
        for observe, keep in ((None, ()), (lambda t, net: {"t": t}, (1, 3)))
    ]
    assert same(*nets)


def test_an_observer_may_not_draw_from_the_training_generator(two_layer, data, generator):
    def observe(step, net):
        return {"noise": torch.rand(1, generator=generator).item()}

    with pytest.raises(
        ValueError, match=r"^`observe` drew from the training's `generator`; give it one of its own\.$"
    ):
        Trainer(lr=LR).run(two_layer, *data, steps=2, generator=generator, observe=observe)

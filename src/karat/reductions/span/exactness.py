"""When the reduction to inner products is exact, and the one sentence that says why it is not."""

from typing import Any

from karat.attacks.inner_products.obstacle import attack_obstacle
from karat.nets.two_layer import TwoLayer
from karat.training.regularisers import SquaredNorms
from karat.training.trainer import Trainer


def exactness_obstacle(trainer: Trainer, net: Any) -> str | None:
    """Why `train_exact` cannot reproduce this training exactly; None if it can.

    Under gradient descent, momentum, squared-norm penalties and l2 attacks from zero, the weights and all
    attacked points stay in the span of the first weights and the data, where only inner products matter. Sign
    and coordinate steps (l_inf and l_1 attacks, Adam), boxes and random starts leave it.

    Args:
        trainer: the rule of one update.
        net: any net.

    >>> from karat.training import Constant
    >>> exactness_obstacle(Trainer(lr=Constant(0.1), batch_size=5), None)
    'the net NoneType is not a TwoLayer net'
    """
    if type(net) is not TwoLayer:  # a subclass may be another function
        return f"the net {type(net).__name__} is not a TwoLayer net"
    if trainer.batch_size is not None:
        return "the engine runs full-batch training only, and `batch_size` is set"
    if trainer.projection is not None:
        return f"the projection {type(trainer.projection).__name__} is not expressed in inner products"
    if trainer.regulariser is not None and not isinstance(trainer.regulariser, SquaredNorms):
        return f"the regulariser {type(trainer.regulariser).__name__} is not expressed in inner products"
    if trainer.adversary is None:
        return None
    return attack_obstacle(trainer.adversary.method, trainer.adversary.ball)

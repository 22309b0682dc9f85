"""The paper's nets: by name, by their number of weights, and with the rates at which it trains them."""

from dataclasses import dataclass

from karat.papers.purification.experiments.image_setting import ImageSetting
from karat.study.hypothesis import Condition, is_so, not_checkable


@dataclass(frozen=True, kw_only=True)
class PaperNet:
    """One net of the paper.

    Args:
        name: karat's.
        label: where the paper has it, and what it calls it.
        weights: for ten classes of colour images.
        lr: rate of every training.
        weight_decay: of every training.
        unprinted: why its number of filters cannot be compared.
    """

    name: str
    label: str
    weights: int
    lr: float
    weight_decay: float
    unprinted: str = ""

    def conditions(self, config: ImageSetting) -> list[Condition]:
        """Ask for the net, of its size, and for its rates.

        Args:
            config: of a run.
        """
        here = f"{config.network} with {config.weights} weights"
        asked = [
            is_so(f"{self.label}, {self.weights} weights", self.is_net_of(config), f"here {here}"),
            is_so(
                f"Sec 8: rate {self.lr:g} and weight decay {self.weight_decay:g}",
                self.has_rates_of(config),
                f"here {config.lr:g}, {config.robust_lr:g} against attacks, and {config.weight_decay:g}",
            ),
        ]
        if self.unprinted:
            asked.append(not_checkable("Sec 8.2: the number of filters", self.unprinted))
        return asked

    def is_net_of(self, config: ImageSetting) -> bool:
        """Whether a run trains this net; another head or another number of channels is another net."""
        return config.network == self.name and config.weights == self.weights

    def has_rates_of(self, config: ImageSetting) -> bool:
        """Whether a run trains at the paper's rates, clean and adversarially."""
        rates = config.lr, config.robust_lr, config.weight_decay
        return rates == (self.lr, self.lr, self.weight_decay)


ALEXNET_WHOLE = PaperNet(
    name="alexnet:1",
    label="Sec 8: AlexNet of the cited code",
    weights=2_472_266,
    lr=0.02,
    weight_decay=5e-4,
)
RESNET34 = PaperNet(
    name="wrn:34:1",
    label="Sec 8: ResNet-34 with basic blocks and 31 convolutions",
    weights=466_714,
    lr=0.1,
    weight_decay=1e-4,
    unprinted="not printed; 16, 32 and 64 filters are those of the pre-activation net of the cited code, "
    "which has five blocks a stage at 31 convolutions",
)
WIDE = PaperNet(
    name="wrn:28:10",
    label="Fig 5: WRN-28-10",
    weights=36_479_194,
    lr=0.1,
    weight_decay=1e-4,
)
"""The four-stage ResNet-34 has 33 convolutions and 21 million weights: another net."""

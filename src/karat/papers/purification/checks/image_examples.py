"""Made-up results of image experiments, from which checks make their examples: as the paper wants them."""

from karat.papers.purification.experiments.alexnet import (
    ALEXNET,
    AlexnetConfig,
    AlexnetResult,
    AtomCounts,
    LeftoverMeans,
)
from karat.papers.purification.experiments.feature_pictures import FeatureMeasures
from karat.papers.purification.experiments.freezing import FREEZING, MOMENTS, FreezingResult
from karat.papers.purification.experiments.frozen_stages import FreezingConfig
from karat.papers.purification.experiments.image_codes import CodeCurve
from karat.papers.purification.experiments.image_measures import (
    Lottery,
    Participation,
    StagesResult,
    ViewsResult,
)
from karat.papers.purification.experiments.image_setting import ImageResult, ScoreLists, Scores
from karat.papers.purification.experiments.layer_angles import LayerAngles
from karat.papers.purification.experiments.resnet_pictures import (
    RESNET_PICTURES,
    ResnetPicturesConfig,
    ResnetPicturesResult,
)
from karat.papers.purification.experiments.table1 import TABLE1, Table1Config, Table1Result, Trained
from karat.papers.purification.experiments.theta import THETA, ThetaConfig, ThetaResult
from karat.papers.purification.printed_table1 import ATTACKERS, PRINTED
from karat.probes.density import Density

THETA_CONFIG: ThetaConfig = THETA.preset("full").config
FREEZING_CONFIG: FreezingConfig = FREEZING.preset("full").config
TABLE1_CONFIG: Table1Config = TABLE1.preset("full").config
ALEXNET_CONFIG: AlexnetConfig = ALEXNET.preset("full").config
RESNET_CONFIG: ResnetPicturesConfig = RESNET_PICTURES.preset("full").config
"""The paper's own settings."""

_IMAGES = vars(ImageResult(images="cifar10", fallback=False, trained_on=50_000, tested_on=10_000))
_FRAGILE = Scores(accuracy=0.94, attacker=0.0, strong=0.0)
_ROBUST = Scores(accuracy=0.66, attacker=0.43, strong=0.4)


def _angles(layers: int) -> LayerAngles:
    """Angles as the principle of feature purification wants them, at every layer."""
    means = {"chance": 0.02, "start_clean": 0.1, "start_robust": 0.1, "clean_robust": 0.95, "pairs": 0.1}
    shares = dict.fromkeys(("start_clean_small", "start_robust_small", "pairs_small"), 0.9)
    shares |= {"clean_robust_small": 0.0, "clean_robust_large": 0.9}
    shares |= {"start_clean_large": 0.0, "start_robust_large": 0.0}
    lists = {name: [value] * layers for name, value in (means | shares).items()}
    return LayerAngles(**lists, live=[10] * layers, filters=[10] * layers)


def _theta() -> ThetaResult:
    return ThetaResult(
        **_IMAGES,
        **vars(_angles(2)),
        layers=["conv1", "conv2"],
        clean_control=[0.98, 0.98],
        clean_control_small=[0.0, 0.0],
        clean_control_large=[1.0, 1.0],
        start_clean_all=[0.1, 0.1],
        decay_exponent=8.0,
        clean_curve=[],
        robust_curve=[],
        control_curve=[],
        robust_curve_accuracy=[],
        clean=_FRAGILE,
        robust=_ROBUST,
        control=_FRAGILE,
    )


def score_lists(score: Scores, count: int) -> ScoreLists:
    """Return the same scores so many times.

    Args:
        score: of each.
        count: of layers or attackers.
    """
    return ScoreLists.of([score] * count)


def layer_features(robust: float, *, clean: float = 3.0) -> dict[str, FeatureMeasures]:
    """Return measures of the pictures of every layer at its three moments.

    Args:
        robust: roughness after adversarial training, a hundredth of the waves.
        clean: roughness after clean training.
    """
    rough = {"start": 4.0, "clean": clean, "robust": robust}
    return {
        f"{moment}|{layer}": features(rough[moment], 100 * rough[moment])
        for moment in MOMENTS
        for layer in FREEZING_CONFIG.layers
    }


def _freezing() -> FreezingResult:
    layers = len(FREEZING_CONFIG.layers)
    return FreezingResult(
        **_IMAGES,
        **vars(_angles(layers)),
        stage1=_ROBUST,
        stage2=score_lists(_FRAGILE, layers),
        stage3=score_lists(_ROBUST, layers),
        stage3_epochs=[20] * layers,
        frozen_tensors=[0, *[4] * (layers - 1)],
        frozen_unchanged=[True] * layers,
        pairs_large=[0.0] * layers,
        features=layer_features(1.0),
        feature_pictures={},
    )


def table1_row(mode: str, *, robust: float = 0.0) -> Trained:
    """Return one training as printed.

    Args:
        mode: a training of the table.
        robust: added to its robust accuracies.
    """
    cells = PRINTED[mode].values()
    attacked = [cell.robust / 100 + robust for cell in cells]
    return Trained(
        accuracy=[cell.clean / 100 for cell in cells],
        attacker=attacked,
        strong=attacked,
        certified=[[]] * len(ATTACKERS),
    )


def _table1() -> Table1Result:
    return Table1Result(
        **_IMAGES,
        radii=[],
        clean=table1_row("clean"),
        from_clean=table1_row("from_clean"),
        from_random=table1_row("from_random"),
    )


def features(roughness: float, waves: float) -> FeatureMeasures:
    """Return measures of the pictures of two channels.

    Args:
        roughness: of both.
        waves: in both.
    """
    return FeatureMeasures(roughness=[roughness] * 2, low=[0.5] * 2, waves=[waves] * 2, channels=[0, 1])


def participation(waves: float, leading: float) -> Participation:
    """Return the density of the perturbations of two images.

    Args:
        waves: effective number in both.
        leading: share in the leading components of both.
    """
    return Participation(dct=[waves] * 2, pca=[50.0] * 2, pca_leading=[leading] * 2, dct_k90=[9.0] * 2)


_DENSITY = Density(participation=100.0, k90=50.0, leading=0.4)
_STAGES = StagesResult(
    **_IMAGES,
    activity={"clean": [[0.5, 0.5], [0.3, 0.3]], "robust": [[0.3, 0.3]]},
    clean=_FRAGILE,
    robust=_ROBUST,
)
_VIEWS = ViewsResult(
    seen=2,
    seen_right=2,
    density={
        name: dict.fromkeys(("pixels", "dct", "pca"), _DENSITY)
        for name in ("clean_delta", "robust_delta", "image", "noise")
    },
    participation={
        "clean_delta": participation(200.0, 0.3),
        "robust_delta": participation(100.0, 0.5),
        "image": participation(30.0, 0.9),
    },
    shown={},
    shown_deltas={},
    ascent={
        f"{net}|{layer}": features(*measures)
        for layer in ("middle", "last")
        for net, measures in (("clean", (3.0, 300.0)), ("robust", (1.0, 100.0)))
    },
    ascent_pictures={},
)


def curves(**counts: float) -> dict[str, CodeCurve]:
    """Return codes of two targets at a relative squared error of 0.1.

    Args:
        counts: "image_robust" for "image|robust" -> non-zeros.
    """
    wanted = {
        "image_start": 900,
        "image_clean": 400,
        "image_robust": 120,
        "image_clean blurred": 310,
        "image_noise": 600,
        "clean_delta_robust": 200,
        "robust_delta_robust": 100,
        "clean_delta_noise": 500,
        "robust_delta_noise": 300,
    } | counts
    return {
        "|".join(name.rsplit("_", 1)): CodeCurve(
            counts=[count], errors=[0.1], at={"0.1": [float(count)] * 2}, gap=0.0, atoms=4096
        )
        for name, count in wanted.items()
    }


def tickets(rank: float, *, remembered: float = 0.01) -> Lottery:
    """Return the way of two filters to their features.

    Args:
        rank: of both starts.
        remembered: share of a feature's energy along its start.
    """
    ranks = [rank, rank]
    return Lottery(
        own=[0.1, 1.0], others=[0.0, 0.0], rank=[rank, 1.0], first_ranks=ranks, remembered=remembered
    )


def _alexnet() -> AlexnetResult:
    rough = {"start": 3.5, "clean": 2.0, "robust": 1.0, "continued": 1.9}
    left = LeftoverMeans(
        energy_before=0.01,
        energy_after=0.01,
        cosine=-0.1,
        cosine_others=0.05,
        chance=0.05,
        rough_before=2.0,
        rough_after=1.0,
        rest_before=2.0,
        rest_after=1.0,
        forgotten=0.1,
    )
    return AlexnetResult(
        **vars(_STAGES),
        **vars(_VIEWS),
        filters={},
        filter_roughness={name: [value] * 2 for name, value in rough.items()},
        filter_low={},
        leftover_robust=left,
        leftover_continued=left,
        curves=curves(),
        ratios=[],
        rebuilt={},
        rebuilt_share=0.03,
        rebuilt_error=0.1,
        span={"clean_delta|robust": 1e-6, "clean_delta|start": 0.1},
        span_own={"clean_delta|robust": 1e-6, "clean_delta|start": 0.1, "image|robust": 0.1},
        atoms=AtomCounts(code=4096, own=4096, pixels=3072),
        lottery=tickets(0.9),
    )


THETA_RESULT, FREEZING_RESULT, TABLE1_RESULT = _theta(), _freezing(), _table1()
ALEXNET_RESULT = _alexnet()
RESNET_RESULT = ResnetPicturesResult(
    **vars(_STAGES),
    **vars(_VIEWS),
    image_roughness=0.5,
    image_low=0.9,
    span={"clean_delta|robust": 1e-12, "clean_delta|start": 0.1},
    span_atoms=16_384,
)

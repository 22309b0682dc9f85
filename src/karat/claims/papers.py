"""The five papers and every numbered statement of theirs, joined from one table per paper."""

from collections.abc import Mapping
from types import MappingProxyType

from karat.claims.statement import Paper, Statement
from karat.claims.statements import BENIGN, CONVERGENCE, FEATURES, LAZY, PURIFICATION

PAPERS: Mapping[str, Paper] = MappingProxyType(
    {
        paper.key: paper
        for paper in (
            Paper(
                key="purification",
                title="Feature Purification: How Adversarial Training Performs Robust Deep Learning",
                authors=("Zeyuan Allen-Zhu", "Yuanzhi Li"),
                venue="FOCS",
                year=2021,
                file="000_6ba20ae30c111db9.txt",
            ),
            Paper(
                key="lazy",
                title="Adversarial Robustness is at Odds with Lazy Training",
                authors=("Yunjuan Wang", "Enayat Ullah", "Poorya Mianjy", "Raman Arora"),
                venue="NeurIPS",
                year=2022,
                file="001_5ca782b6f3aeb9b8.txt",
            ),
            Paper(
                key="convergence",
                title="Convergence of Adversarial Training in Overparametrized Neural Networks",
                authors=(
                    "Ruiqi Gao",
                    "Tianle Cai",
                    "Haochuan Li",
                    "Liwei Wang",
                    "Cho-Jui Hsieh",
                    "Jason D. Lee",
                ),
                venue="NeurIPS",
                year=2019,
                file="002_e70443314a3d4228.txt",
            ),
            Paper(
                key="benign",
                title="Benign Overfitting in Adversarial Training of Neural Networks",
                authors=("Yunjuan Wang", "Kaibo Zhang", "Raman Arora"),
                venue="ICML",
                year=2024,
                file="003_e039b931971a797c.txt",
            ),
            Paper(
                key="features",
                title=(
                    "A Theoretical Analysis on Feature Learning in Neural Networks: "
                    "Emergence from Inputs and Advantage over Fixed Features"
                ),
                authors=("Zhenmei Shi", "Junyi Wei", "Yingyu Liang"),
                venue="ICLR",
                year=2022,
                file="004_b4668463d87e622f.txt",
            ),
        )
    }
)

STATEMENTS: tuple[Statement, ...] = PURIFICATION + LAZY + CONVERGENCE + BENIGN + FEATURES

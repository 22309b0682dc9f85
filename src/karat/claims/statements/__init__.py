"""The numbered statements, one table per paper."""

from karat.claims.statements.benign import BENIGN
from karat.claims.statements.convergence import CONVERGENCE
from karat.claims.statements.features import FEATURES
from karat.claims.statements.lazy import LAZY
from karat.claims.statements.purification import PURIFICATION

__all__ = ["BENIGN", "CONVERGENCE", "FEATURES", "LAZY", "PURIFICATION"]

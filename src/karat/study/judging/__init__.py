r"""The only place where numbers become outcomes: a small closed algebra of comparisons.

Every function returns a `Finding` with a trace of the rules it applied; checks combine findings and never set
an outcome themselves. The kind of a statement chooses the rule (`kinds.py`): upper and lower bounds are
compared on one side, equalities and rates are equivalence tests with a margin declared before data,
statements with probability :math:`1 - p` are judged on the share of draws, hidden constants as one constant
over several sizes.
"""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.study.judging.combine import all_of, every_setting, noted, vacuous_if
    from karat.study.judging.common import Undecided
    from karat.study.judging.draws import share, share_between, share_of_points
    from karat.study.judging.means import bound, equal, exact_bound, identity
    from karat.study.judging.sizes import limit, one_constant, rate
    from karat.study.judging.whole_curves import curve
    from karat.study.judging.worst_case import certified
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "Undecided",
    "all_of",
    "bound",
    "certified",
    "curve",
    "equal",
    "every_setting",
    "exact_bound",
    "identity",
    "limit",
    "noted",
    "one_constant",
    "rate",
    "share",
    "share_between",
    "share_of_points",
    "vacuous_if",
]

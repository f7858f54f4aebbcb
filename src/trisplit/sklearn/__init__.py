"""Estimators in scikit-learn's convention, whose coefficients minimise a loss plus nonsmooth terms.

They need scikit-learn: pip install 'trisplit[sklearn]'.
"""

try:
    import sklearn as _sklearn  # noqa: F401  (the library: this room is called trisplit.sklearn)
except ModuleNotFoundError as error:
    if error.name != "sklearn":
        raise
    raise ImportError("trisplit.sklearn needs scikit-learn; pip install trisplit[sklearn]") from error

from trisplit.sklearn.group_lasso import OverlappingGroupLasso
from trisplit.sklearn.group_logistic import OverlappingGroupLogistic
from trisplit.sklearn.low_rank import SparseLowRank
from trisplit.sklearn.robust import RobustRegressor

__all__ = ["OverlappingGroupLasso", "OverlappingGroupLogistic", "RobustRegressor", "SparseLowRank"]

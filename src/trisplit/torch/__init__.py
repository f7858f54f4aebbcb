"""Three operator splitting as an optimiser of PyTorch, for networks with constraints and regularisation.

PyTorch is imported when `TOS` is first named.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trisplit.torch.optimizer import TOS

__all__ = ["TOS"]


def __getattr__(name: str) -> type:
    if name not in __all__:
        raise AttributeError(f"module 'trisplit.torch' has no attribute {name!r}")
    try:
        from trisplit.torch.optimizer import TOS
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError("`ts.torch` needs PyTorch; pip install 'trisplit[torch]'", name="torch") from error
    return TOS

"""The one exception that the package raises for bad input, and the warnings that have a name."""


class InputError(ValueError):
    """Bad input: the message names the argument, what came and the remedy.

    Examples
    --------
    >>> import trisplit as ts
    >>> try:
    ...     ts.terms.Box(1, 0)
    ... except ts.InputError as error:
    ...     print(error)
    `lo` exceeds `hi`, 1.0 > 0.0; exchange them
    """


class GPUWarning(RuntimeWarning):
    """A GPU that was asked for takes no part in a search, or none any more; the message says why.

    Examples
    --------
    >>> import warnings
    >>> import trisplit as ts
    >>> warnings.simplefilter("ignore", ts.GPUWarning)  # where device="cuda" is to mean: if there is one
    """

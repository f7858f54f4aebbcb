"""The one exception that the package raises for bad input."""


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

"""The one exception that the package raises for bad input."""


class InputError(ValueError):
    """Bad input: the message names the argument, what came and the remedy."""

"""Loops that no array library has, compiled by numba when their module is imported, or when they are first called.

Import them where they are called: numba takes a while to import.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from threading import Timer, current_thread, main_thread
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

PATIENCE = 0.5  # seconds after which somebody at a terminal is told why nothing happens


def compiled(
    signature: Any = None,  # noqa: ANN401
    *,
    fast: bool = False,
    inline: bool = False,
) -> Callable[[Callable], Callable]:
    """Return a decorator: compile for this signature at once, or without one, when a compiled caller needs it.

    The signature is one of numba's, as a text or an object.

    Plain functions that the function calls by their global names are compiled with it. With `fast`, sums may be taken
    in any order, which lets the compiler use vector instructions; NaN and inf stay. With `inline` the plain functions
    become part of it, which pays where they are called for each of many short rows.

    What was compiled is kept in the folder that numba finds for it. Where none can be written, where the disk is full
    or a kept file is damaged, the function is compiled for this process alone.

    Examples
    --------
    >>> @compiled("f8(f8[::1])")
    ... def first(x):
    ...     return x[0]
    >>> import numpy as np
    >>> first(np.array([3.0, 4.0]))
    3.0
    """

    def decorate(function: Callable) -> Callable:
        from numba import njit

        # Other threads go on meanwhile, and a division by zero gives infinity, as in NumPy.
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
        # Said even if not wanted: left out, it would be that of a compiled caller.
        options["fastmath"] = {"reassoc", "contract", "arcp", "nsz"} if fast else False
        linked: dict[Callable, Callable] = {}
        function = _link(function, linked, {**options, "fastmath": False, "forceinline": inline})
        if linked:
            # What is kept goes by this name and by the file of the function: a callee that changes needs another name.
            function.__qualname__ = function.__name__ = f"{function.__name__}_{_digest(tuple(linked))}"
        if signature is None:
            return njit(forceinline=inline, **options)(function)
        with noticed(f"compiling `{function.__name__}`"), undisturbed():
            try:
                return njit([signature], cache=True, **options)(function)
            except Exception:  # if the cause is the function and not the folder, this raises once more
                return njit([signature], **options)(function)

    return decorate


class ByPrecision:
    """A function whose first argument is an array, compiled for float32 or float64 when it is first called with one.

    Parameters
    ----------
    signature : str
        With {f} in place of f4 or f8.
    function : callable

    Examples
    --------
    >>> import numpy as np
    >>> first = ByPrecision("{f}({f}[::1])", lambda x: x[0])
    >>> first(np.array([3.0, 4.0]))
    3.0
    """

    def __init__(self, signature: str, function: Callable) -> None:
        self.signature, self.function = signature, function
        self._loops: dict[str, Callable] = {}

    def __call__(self, x: "np.ndarray", *rest: object) -> Any:  # noqa: ANN401
        loop = self._loops.get(x.dtype.char)
        return (self.load(x.dtype.str[1:]) if loop is None else loop)(x, *rest)

    def load(self, precision: str) -> Callable:
        """Return the function, compiled for "f4" or "f8"."""
        key = {"f4": "f", "f8": "d"}[precision]
        if key not in self._loops:
            self._loops[key] = compiled(self.signature.format(f=precision))(self.function)
        return self._loops[key]


def by_precision(signature: str) -> Callable[[Callable], ByPrecision]:
    """Return a decorator: compile for float32 and for float64, each when it is needed; see `ByPrecision`."""
    return partial(ByPrecision, signature)


@contextmanager
def noticed(work: str) -> Iterator[None]:
    """Tell somebody at a terminal what a block does, if it takes long.

    Examples
    --------
    >>> with noticed("adding"):
    ...     print(1 + 1)
    2
    """
    notice = Timer(PATIENCE, _tell, [f"trisplit: {work} ..."])
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold signals back until the end of a block: an exception in the midst of numba's work may crash the process.

    Examples
    --------
    >>> try:
    ...     with undisturbed():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("whole")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    whole
    interrupted
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    if current_thread() is not main_thread():  # no other thread sees signals
        before = {}
    arrived: list[int] = []
    handlers = {number: handler for number, handler in before.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in arrived[:1]:
            signal.raise_signal(number)


def _link(function: Callable, linked: dict[Callable, Callable], options: dict[str, Any]) -> Callable:
    """Return a function that calls compiled twins of the plain functions that it names; `linked` remembers these."""
    from numba import njit

    own = {}
    for name in function.__code__.co_names:
        callee = function.__globals__.get(name)
        if isinstance(callee, FunctionType):
            if callee not in linked:
                linked[callee] = njit(**options)(_link(callee, linked, options))
            own[name] = linked[callee]
    if not own:
        return function
    return FunctionType(function.__code__, {**function.__globals__, **own}, function.__name__)


def _digest(functions: tuple[Callable, ...]) -> str:
    """Return a name for what some functions do, as far as their own code and the numbers that it names say."""
    said = []
    for function in functions:
        code, known = function.__code__, function.__globals__
        numbers = [known[name] for name in code.co_names if isinstance(known.get(name), int | float)]
        said.append((code.co_code, code.co_names, numbers, [c for c in code.co_consts if not isinstance(c, str)]))
    return sha256(repr(said).encode()).hexdigest()[:12]


def _tell(message: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(message, file=sys.stderr, flush=True)

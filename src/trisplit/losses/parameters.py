"""Nested parameters, dictionaries, lists and tuples of arrays, as one flat vector, and a term for each of them."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import TypeAlias

import numpy as np

from trisplit.arrays import Array, Shape, is_array, kind_of, namespace
from trisplit.errors import InputError
from trisplit.terms import Reshape, SeparableSum, Zero
from trisplit.terms.base import BaseTerm

Nested: TypeAlias = Array | Mapping[str, "Nested"] | list["Nested"] | tuple["Nested", ...]


class Parameters:
    """The layout of nested parameters in a flat vector.

    Each array has a path, the keys and places on the way to it with dots between: "layers.0.weight".

    Parameters
    ----------
    like : dict, list or tuple of arrays, also nested
        The arrays say the shapes; all are of one library, device and dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> layout = Parameters({"W": np.ones((2, 2)), "c": np.zeros(3)})
    >>> layout.paths, layout.size
    (('W', 'c'), 7)
    >>> layout.unflatten(np.arange(7.0))["W"]
    array([[0., 1.],
           [2., 3.]])
    >>> layout.terms({"W": L1()}).prox(np.full(7, 3.0), gamma=1.0)
    array([2., 2., 2., 2., 3., 3., 3.])
    """

    def __init__(self, like: Nested) -> None:
        self.like = like
        found = list(_leaves(like, ""))
        if not found:
            raise InputError("`like` holds no arrays; give the parameters, or leave it out for one array")
        self.paths = tuple(path for path, _ in found)
        if len(set(self.paths)) != len(found):
            twice = next(path for path in self.paths if self.paths.count(path) > 1)
            raise InputError(f"`like` has two arrays with the path {twice!r}; rename a key")
        for path, leaf in found:
            _check_leaf("like", path, leaf, *found[0])
        self.shapes: tuple[Shape, ...] = tuple(tuple(leaf.shape) for _, leaf in found)
        self.sizes = tuple(prod(shape) for shape in self.shapes)
        self.size = sum(self.sizes)

    def flatten(self, params: Nested) -> Array:
        """Return nested parameters as one vector."""
        found = list(_leaves(params, ""))
        paths = tuple(path for path, _ in found)
        if sorted(paths) != sorted(self.paths):
            missing = [path for path in self.paths if path not in paths] or [p for p in paths if p not in self.paths]
            raise InputError(
                f"`params` must have the paths of `like`, but {missing[0]!r} is only in one; make them equal"
            )
        leaves = dict(found)
        for path, shape in zip(self.paths, self.shapes, strict=True):
            _check_leaf("params", path, leaves[path], *found[0])
            if tuple(leaves[path].shape) != shape:
                raise InputError(f"`params` has shape {tuple(leaves[path].shape)} at {path!r}, not {shape}; reshape it")
        xp = namespace(found[0][1])
        return xp.concat([xp.reshape(leaves[path], (-1,)) for path in self.paths])

    def unflatten(self, x: Array) -> Nested:
        """Return a vector as nested parameters, in the structure of `like`."""
        if tuple(x.shape) != (self.size,):
            raise InputError(f"`x` must be a vector of {self.size} entries, got shape {tuple(x.shape)}; see `flatten`")
        xp, ends = namespace(x), np.cumsum(self.sizes).tolist()
        pieces = (
            xp.reshape(x[end - size : end], shape)
            for end, size, shape in zip(ends, self.sizes, self.shapes, strict=True)
        )
        return _rebuilt(self.like, pieces)

    def terms(self, terms: Mapping[str, BaseTerm]) -> SeparableSum:
        """Return one term of the vector from a term for each path, of an array of its shape; none is zero.

        The name of a branch stands for all that is below it, each on its own: "layers" for "layers.0.weight".
        """
        chosen = dict.fromkeys(self.paths)
        for name in sorted(terms, key=len):  # the more exact name comes later and wins
            below = [path for path in self.paths if path == name or path.startswith(f"{name}.")]
            if not below:
                known = ", ".join(map(repr, self.paths[:8])) + (", ..." if len(self.paths) > 8 else "")
                raise InputError(f"`terms` names {name!r}, which is no parameter; there are {known}")
            chosen.update(dict.fromkeys(below, terms[name]))
        parts = [
            Zero() if term is None else term if len(shape) == 1 else Reshape(term, shape)
            for term, shape in zip(chosen.values(), self.shapes, strict=True)
        ]
        return SeparableSum(parts, self.sizes)


def _children(node: Nested) -> list[tuple[object, Nested]] | None:
    if isinstance(node, Mapping):
        return list(node.items())
    return list(enumerate(node)) if isinstance(node, list | tuple) else None  # pyright: ignore


def _leaves(node: Nested, path: str) -> Iterator[tuple[str, Array]]:
    children = _children(node)
    if children is None:
        yield path, node  # pyright: ignore[reportReturnType]
        return
    for key, child in children:
        yield from _leaves(child, f"{path}.{key}" if path else str(key))


def _check_leaf(name: str, path: str, leaf: object, first_path: str, first: Array) -> None:
    """Raise an `InputError` unless a leaf is an array of real numbers of the kind of the first one."""
    if not is_array(leaf):
        came = f"got {type(leaf).__name__} at {path!r}"
        raise InputError(f"`{name}` must hold arrays in dictionaries, lists and tuples, {came}; convert it")
    array: Array = leaf  # pyright: ignore[reportAssignmentType]
    if not namespace(array).isdtype(array.dtype, "real floating"):
        raise InputError(f"`{name}` must hold real floating-point numbers, got {array.dtype} at {path!r}; convert it")
    if kind_of(array) != kind_of(first) or array.dtype != first.dtype:
        own, other = (f"{kind_of(each)} {each.dtype}" for each in (array, first))
        came = f"got {own} at {path!r} and {other} at {first_path!r}; convert one of them"
        raise InputError(f"`{name}` must be of one library, device and dtype, {came}")
    if 0 in array.shape:
        raise InputError(f"`{name}` is empty at {path!r}, shape {tuple(array.shape)}; leave it out")


def _rebuilt(node: Nested, pieces: Iterator[Array]) -> Nested:
    if isinstance(node, Mapping):
        return {key: _rebuilt(child, pieces) for key, child in node.items()}
    if isinstance(node, list):
        return [_rebuilt(child, pieces) for child in node]
    if isinstance(node, tuple):
        made = [_rebuilt(child, pieces) for child in node]
        return type(node)(*made) if hasattr(node, "_fields") else tuple(made)  # pyright: ignore
    return next(pieces)

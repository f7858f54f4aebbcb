"""A match as three matrices: A, B in the order of the match, and where they agree."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from trisplit.errors import InputError
from trisplit.matching.graphs import as_graph
from trisplit.matching.picture import Picture, picture
from trisplit.paper.style import COLOURS, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_match"]
BLUE, ORANGE, GREEN = COLOURS[:3]
GREY = "#b8b8b8"
ORDERS = ("structure", "given")


class Match(Protocol):
    """What is drawn: a `MatchResult`, or any object with these."""

    @property
    def indices_A(self) -> np.ndarray:
        """The matched vertices of A."""
        ...

    @property
    def indices_B(self) -> np.ndarray:
        """Their partners."""
        ...


def plot_match(
    A: object,
    B: object,
    result: Match,
    *,
    ax: "Sequence[Axes] | np.ndarray | None" = None,
    order: "str | Sequence[int] | np.ndarray" = "structure",
    cells: int = 240,
) -> "Figure":
    """Draw the matched vertices of two graphs: the matrix of A, that of B as matched, and where they agree.

    In the third panel edges of A alone are blue, those of B alone orange, and those of both grey; of weights that
    differ the smaller is common. Graphs with more vertices than `cells` are drawn as mean weights of blocks, which
    for sparse graphs takes the time of a pass over the edges; there the three mix, and what both have is green.
    Layers add up, weights count by their size.

    Parameters
    ----------
    A, B : graph
        As for `graph_match`.
    result : MatchResult
    ax : three Axes, optional
        Where to draw; by default in a new figure of matplotlib.pyplot.
    order : str or sequence of int
        "structure" puts vertices with common neighbours side by side, "given" keeps the order of the result; or the
        places of the matches in the order in which they are to be shown.
    cells : int
        The most rows and columns of a picture.

    Returns
    -------
    Figure
        Of matplotlib, which comes with trisplit[plot].

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> from trisplit.matching.plot import plot_match
    >>> A = np.kron(np.eye(4), np.ones((5, 5))) - np.eye(20)
    >>> p = np.random.default_rng(0).permutation(20)
    >>> res = ts.matching.graph_match(A, A[np.ix_(p, p)], rng=0)
    >>> figure = plot_match(A, A[np.ix_(p, p)], res)
    >>> [panel.get_title() for panel in figure.axes]
    ['A', 'B, as matched', 'A and B']
    """
    try:
        import matplotlib as mpl
        from matplotlib import pyplot as plt
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        raise ImportError("`plot_match` needs matplotlib; pip install 'trisplit[plot]'", name="matplotlib") from error

    graph_A, graph_B = as_graph(A, "A"), as_graph(B, "B")
    if len(graph_A.layers) != len(graph_B.layers):
        raise InputError(f"`B` must have {len(graph_A.layers)} layers as `A`, got {len(graph_B.layers)}")
    chosen = _order(order, len(result.indices_A))
    _check_cells(cells)
    shown = picture(graph_A.layers, graph_B.layers, result.indices_A, result.indices_B, order=chosen, cells=cells)
    with mpl.rc_context(STYLE):  # pyright: ignore[reportArgumentType]
        axes = _three(ax) if ax is not None else plt.figure(figsize=(9.6, 3.7), layout="constrained").subplots(1, 3)
        _draw(list(axes), shown, (graph_A.n, graph_B.n))
    return axes[0].figure  # pyright: ignore[reportReturnType]


def _draw(axes: "list[Axes]", shown: Picture, sizes: tuple[int, int]) -> None:
    from matplotlib.patches import Patch

    n, exact = len(shown.order), len(shown.starts) == len(shown.order)
    # Single small weights are to be seen, but a few edges in a block are few. Blue and orange mix to grey.
    both, power = (GREY, 0.5) if exact else (GREEN, 1.0)
    whole = shown.shade()
    for ax, values, colour, title, size in zip(
        axes[:2], (shown.A, shown.B), (BLUE, ORANGE), ("A", "B, as matched"), sizes, strict=True
    ):
        _show(ax, _tinted(values / whole, colour, power), n)
        ax.set_title(title)
        ax.set_xlabel(f"{n:,} vertices" if size == n else f"{n:,} of {size:,} vertices")
    parts, colours = [shown.common, shown.only_A, shown.only_B], [both, BLUE, ORANGE]
    _show(axes[2], _mixed([part / whole for part in parts], colours, power), n)
    axes[2].set_title("A and B")
    total = sum(part.sum() for part in parts)
    shares = [100 * part.sum() / total if total else 0.0 for part in parts]
    names = [f"{name} {share:.0f} %" for name, share in zip(("both", "only A", "only B"), shares, strict=True)]
    patches = [Patch(color=colour, label=name) for colour, name in zip(colours, names, strict=True)]
    look = {"handlelength": 0.8, "handleheight": 0.8, "columnspacing": 1.0, "handletextpad": 0.4, "borderaxespad": 0.0}
    axes[2].legend(handles=patches, loc="upper center", bbox_to_anchor=(0.5, -0.035), ncols=3, **look)


def _show(ax: "Axes", image: np.ndarray, n: int) -> None:
    ax.imshow(image if n else np.ones((1, 1, 3)), interpolation="nearest" if n <= 60 else "auto")
    ax.grid(False)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(visible=True, color="#999999", linewidth=0.6)


def _tinted(values: np.ndarray, colour: str, power: float) -> np.ndarray:
    """Return white where a value is 0, the colour where it is 1 or more."""
    return 1 - np.clip(values, 0.0, 1.0)[..., None] ** power * (1 - _rgb(colour))


def _mixed(parts: list[np.ndarray], colours: list[str], power: float) -> np.ndarray:
    """Return the mean of the colours by the parts of each, as dark as all parts together are large."""
    total = sum(parts)
    safe = np.where(total > 0, total, 1.0)
    shares = [np.clip(total, 0.0, 1.0) ** power * part / safe for part in parts]
    mixed = sum(share[..., None] * (1 - _rgb(colour)) for share, colour in zip(shares, colours, strict=True))
    return 1 - np.asarray(mixed)


def _rgb(colour: str) -> np.ndarray:
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255


def _order(order: "str | Sequence[int] | np.ndarray", matches: int) -> np.ndarray | None:
    if isinstance(order, str):
        if order not in ORDERS:
            raise InputError(f"`order` must be one of {', '.join(map(repr, ORDERS))} or a permutation, got {order!r}")
        return None if order == "structure" else np.arange(matches)
    places = np.asarray(order)
    if places.shape != (matches,) or not np.array_equal(np.sort(places), np.arange(matches)):
        raise InputError(f"`order` must hold each of 0 .. {matches - 1} once, got {places.size} numbers that do not")
    return places.astype(np.intp)


def _check_cells(cells: int) -> None:
    if isinstance(cells, bool) or not isinstance(cells, int | np.integer) or cells < 1:
        raise InputError(f"`cells` must be a positive whole number, got {cells!r}; try 240")


def _three(ax: "Sequence[Axes] | np.ndarray") -> "list[Axes]":
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != 3:
        raise InputError(f"`ax` must be three axes, got {len(axes)}; try `plt.subplots(1, 3)[1]`")
    return axes

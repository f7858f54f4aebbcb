"""What a chart shows: series of numbers over numbers or over categories."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import SupportsFloat

import numpy as np

from trisplit.errors import InputError

# Okabe and Ito: distinguishable with every kind of colour vision. The page has a lighter twin of each for dark mode.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
KINDS = ("lines", "points", "bars")
LARGEST = 1e300  # the difference of two larger numbers may overflow, and no axis can hold them
Numbers = Sequence[float] | Sequence[int] | Sequence[float | None] | np.ndarray


@dataclass(frozen=True)
class Series:
    """Values of one method over what they were measured at.

    Parameters
    ----------
    name : str
        What the legend says.
    x : sequence of float or of str
        Where the values lie; for bars the names of the categories.
    y : sequence of float
        The values; None, NaN and infinite ones are missing, and leave a gap.
    labels : str or sequence of str, optional
        What the points are called when they are read out, such as instances; one name may serve all points.
    groups : str or sequence of str, optional
        The group of each point, such as a family of instances, or of all; the chart then has a filter.
    dash : bool
        Draw lines dashed, and points and bars hollow.
    marker : bool
        Mark the points of a line.
    colour : str or int, optional
        "#rrggbb" or a place in `COLOURS`; left out, the place of the series. Members of `COLOURS` are lightened in
        dark mode, other colours stay as they are.

    Examples
    --------
    >>> Series("TOS", [1, 10, 100], [0.5, 0.01, float("nan")], labels="nug12").y
    (0.5, 0.01, None)
    """

    name: str
    x: Numbers | Sequence[str]
    y: Numbers
    labels: str | Sequence[str] | None = None
    groups: str | Sequence[str] | None = None
    dash: bool = False
    marker: bool = False
    colour: str | int | None = None

    def __post_init__(self) -> None:
        x = tuple(self.x)
        words = any(isinstance(value, str) for value in x)
        object.__setattr__(self, "x", tuple(map(str, x)) if words else _numbers("x", x))
        object.__setattr__(self, "y", _numbers("y", self.y))
        for name in ("labels", "groups"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                object.__setattr__(self, name, tuple(map(str, value)))
                self._same_length(name)
        self._same_length("y")
        object.__setattr__(self, "colour", _colour(self.colour))

    def _same_length(self, name: str) -> None:
        if len(getattr(self, name)) != len(self.x):
            raise InputError(
                f"`{name}` of the series {self.name!r} has {len(getattr(self, name))} values and `x` {len(self.x)}; "
                "give one for each point"
            )

    @property
    def categorical(self) -> bool:
        """Whether `x` names categories."""
        return any(isinstance(value, str) for value in self.x)


@dataclass(frozen=True)
class Chart:
    """One or several series in one system of axes.

    Parameters
    ----------
    id : str
        Name of the chart in links, such as "fig-2": letters, digits, "-" and "_".
    title : str
    kind : str
        "lines", "points" or "bars".
    series : sequence of Series
    x_label, y_label : str
    x_log, y_log : bool
        How the axes are at first; the reader may switch. Zeros lie at the end of a logarithmic axis, at a tick "0".
    note : str
        What is said below the chart.
    filter_label : str
        What the groups are, in the plural: "families". The filter offers "all families" first.

    Examples
    --------
    >>> errors = Series("TOS", ["nug12", "tai20a"], [0.0, 0.02], groups=["nug", "tai"])
    >>> Chart("fig-4", "Error", "bars", [errors], "instance", "relative error", y_log=True).kind
    'bars'
    """

    id: str
    title: str
    kind: str
    series: Sequence[Series]
    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    note: str = ""
    filter_label: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "series", tuple(self.series))
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", self.id):
            raise InputError(f"`id` must be a letter followed by letters, digits, - or _, got {self.id!r}; try 'fig-1'")
        if self.kind not in KINDS:
            raise InputError(f"`kind` must be one of {', '.join(KINDS)}, got {self.kind!r}")
        for one in self.series:
            if len(one.x) and one.categorical != (self.kind == "bars"):
                needed = "names of categories" if self.kind == "bars" else "numbers"
                raise InputError(f"`x` of the series {one.name!r} must be {needed} in a chart of {self.kind}")
            if self.kind == "bars" and len(set(one.x)) < len(one.x):
                raise InputError(f"`x` of the series {one.name!r} names a category twice; a bar each is all there is")

    def payload(self) -> dict[str, object]:
        """Return what the script needs to draw the chart."""
        fields = ("kind", "x_label", "y_label", "x_log", "y_log", "filter_label")
        of_series = ("name", "x", "y", "labels", "groups", "dash", "marker", "colour")
        series = [{name: getattr(one, name) for name in of_series} for one in self.series]
        return {name: getattr(self, name) for name in fields} | {"title": self.title, "series": series}


def _numbers(name: str, values: Iterable[SupportsFloat | str | None]) -> tuple[float | None, ...]:
    try:
        floats = [float("nan") if value is None else float(value) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"`{name}` must hold numbers ({error}); categories are for `x` alone") from error
    return tuple(_short(value) if isfinite(value) and abs(value) <= LARGEST else None for value in floats)


def _short(value: float) -> float:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _colour(colour: str | int | None) -> str | int | None:
    if colour is None:
        return None
    if isinstance(colour, str):
        if not re.fullmatch(r"#[0-9A-Fa-f]{6}", colour):
            raise InputError(f"`colour` must be '#rrggbb' or a place in COLOURS, got {colour!r}")
        return COLOURS.index(colour.upper()) if colour.upper() in COLOURS else colour
    if not 0 <= colour < len(COLOURS):
        raise InputError(f"`colour` must lie in 0..{len(COLOURS) - 1}, got {colour}")
    return int(colour)

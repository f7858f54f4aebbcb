"""The pictures of a reproduction, as PNG files."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trisplit.paper import figure1, theory
from trisplit.paper.figure2_figure import draw_bars, draw_seeds
from trisplit.paper.methods import STARTS
from trisplit.paper.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def pictures(results: Results) -> "Iterator[tuple[str, Figure]]":
    """Yield the name and the drawing of all that there are results for."""
    if results.figure1:
        for start in STARTS:
            yield f"figure1_{start}", figure1.figure(results.figure1, start, today=False)
            yield f"figure1_{start}_today", figure1.figure(results.figure1, start, today=True)
    if results.figure2:
        for start in STARTS:
            yield f"figure2_{start}", draw_bars(results.figure2, start)
        yield "figure2_seeds", draw_seeds(results.figure2)
    if results.theory:
        yield "theory", theory.figure(results.theory)

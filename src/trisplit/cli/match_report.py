"""The page of `trisplit match --report`: both graphs in the order of the match, and how sure it is."""

from collections.abc import Iterator
from importlib.util import find_spec
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np

import trisplit
from trisplit.cli.match_output import Asked, facts, least_sure
from trisplit.errors import InputError
from trisplit.matching.picture import Picture, picture
from trisplit.matching.result import MatchResult
from trisplit.report import Block, Chart, Frames, Image, Section, Series, Table, Text, write_page

BINS = 20
LEAST_SURE = 25
ALL = 500  # matches that a page lists


def write_report(path: Path, asked: Asked, result: MatchResult) -> None:
    """Write the page."""
    shown = picture(asked.A.layers, asked.B.layers, result.indices_A, result.indices_B)
    sections = [
        Section("The match", list(_answer(asked, result))),
        Section("Both graphs in the order of the match", list(_matrices(asked, result, shown))),
        Section("How sure it is", list(_confidence(asked, result))),
    ]
    title = f"{asked.path_A.name} and {asked.path_B.name}"
    about = f"{result.matches:,} matches, score {result.score:,.10g}: {result.message}"
    try:
        write_page(path, title, about, sections, f"Made by trisplit {trisplit.__version__}.")
    except OSError as error:
        raise InputError(f"--report {path} cannot be written ({error.strerror}); choose another path") from error


def _answer(asked: Asked, result: MatchResult) -> Iterator[Block]:
    yield Table(
        "The match as a whole", ["", "value"], [*facts(asked, result), ("seed", str(asked.seed))], numeric=False
    )
    yield Text(
        "Alignment strength is 1 for the same graph twice and 0 on average over random matches. Agreement is the share "
        "of a vertex's edges that have their counterpart, by weight. Confidence tells how far a match is ahead of the "
        "next best; stability is the share of the starts that found it."
    )


def _matrices(asked: Asked, result: MatchResult, shown: Picture) -> Iterator[Block]:
    if not result.matches:
        yield Text("No vertex is matched.")
        return
    if find_spec("matplotlib") is not None:
        yield Image(_drawing(asked, result, shown.order), "The matrices of A, of B as matched, and of both together")
    whole = shown.shade()
    values = [shown.A, shown.B, shown.common, shown.only_A, shown.only_B]
    names = ["A", "B, as matched", "what both have", "only in A", "only in B"]
    frames = np.stack([np.rint(255 * np.clip(one / whole, 0.0, 1.0)).astype(np.uint8) for one in values])
    cells = len(shown.starts)
    note = "Vertices with common neighbours stand side by side; 1 stands for a weight that few exceed."
    if cells < result.matches:
        note += f" Each cell is the mean over a block of about {result.matches / cells:.0f} vertices squared."
    yield Frames("A and B, in turn", (cells, cells), frames, names, note)


def _drawing(asked: Asked, result: MatchResult, order: np.ndarray) -> bytes:
    from matplotlib.figure import Figure

    from trisplit.matching.plot import plot_match

    figure, content = Figure(figsize=(9.6, 3.7), layout="constrained"), BytesIO()
    plot_match(asked.A, asked.B, result, ax=figure.subplots(1, 3), order=order)
    figure.savefig(content, format="png", dpi=120, metadata={"Software": None})
    return content.getvalue()


def _confidence(asked: Asked, result: MatchResult) -> Iterator[Block]:
    kinds = {"confidence": result.confidence, "agreement": result.agreement, "stability": result.stability}
    for place, (name, values) in enumerate(kinds.items()):
        if values is not None and np.isfinite(values).any():
            yield _histogram(name, np.asarray(values)[np.isfinite(values)], place)
    rows = least_sure(asked, result, LEAST_SURE)
    if rows:
        columns = ["vertex of A", "matched with", "confidence", "agreement", "runner-up"]
        yield Table("Least sure", columns, rows, note="A runner-up is the vertex of B that comes next.")
    for name, vertices, of in (("A", result.unmatched_A, asked.name_A), ("B", result.unmatched_B, asked.name_B)):
        if len(vertices):
            some = ", ".join(str(of(int(vertex))) for vertex in vertices[:ALL])
            rest = f" and {len(vertices) - ALL:,} more" if len(vertices) > ALL else ""
            yield Table(f"Vertices of {name} without a partner", ["", ""], [[f"{len(vertices):,}", some + rest]])


def _histogram(name: str, values: np.ndarray, colour: int) -> Chart:
    counts, ends = np.histogram(np.clip(values, 0.0, 1.0), bins=BINS, range=(0.0, 1.0))
    classes = [f"{low:.2f}–{high:.2f}" for low, high in pairwise(ends)]
    series = Series("matches", classes, counts.tolist(), colour=colour)
    note = f"{len(values):,} matches, {values.mean():.3f} on average."
    return Chart(name, f"{name.capitalize()} of the matches", "bars", [series], name, "matches", note=note)

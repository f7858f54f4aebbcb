"""What `trisplit match` says and writes of a match: a short table, a record in JSON, and a table of all vertices."""

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, isnan
from pathlib import Path

import numpy as np
from scipy import sparse

import trisplit
from trisplit.cli.display import counted
from trisplit.cli.outputs import write_text
from trisplit.errors import InputError
from trisplit.matching.diagnostics import chance
from trisplit.matching.graphs import Graph
from trisplit.matching.result import MatchResult, plain

LISTED = 60  # matches that are printed where no file is written
LEAST_SURE = 5
HEADER = ("A", "B", "confidence", "agreement", "stability", "runner_up")


@dataclass(frozen=True, eq=False)
class Asked:
    """What was to be matched, and how."""

    path_A: Path
    path_B: Path
    A: Graph
    B: Graph
    seed: int
    starts: int

    def name_A(self, vertex: int) -> object:
        """Return the label of a vertex of A, or its number."""
        return vertex if self.A.labels is None else self.A.labels[vertex]

    def name_B(self, vertex: int) -> object:
        """Return the label of a vertex of B, or its number."""
        return vertex if self.B.labels is None else self.B.labels[vertex]


def edges(graph: Graph) -> int:
    """Return the number of edges in all layers; those of a symmetric layer count once.

    >>> edges(Graph((np.array([[1, 1], [1, 0]]), np.array([[0, 1], [0, 0]]))))
    3
    """
    total = 0
    for layer in graph.layers:
        loops = int(np.count_nonzero(layer.diagonal()))
        if isinstance(layer, np.ndarray):
            entries, symmetric = int(np.count_nonzero(layer)), np.array_equal(layer, layer.T)
        else:
            entries, symmetric = int(layer.count_nonzero()), (layer != layer.T).nnz == 0  # pyright: ignore
        total += (entries + loops) // 2 if symmetric else entries
    return total


def digest(graph: Graph) -> str:
    """Return the SHA-256 of the layers: their sizes, places and weights, however they are stored.

    It is that of, for each layer, the ASCII line "N ENTRIES" with a line feed, then the rows, the columns (int64) and
    the weights (float64) of all entries but zeros, row by row, little-endian.

    >>> from scipy import sparse
    >>> M = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> digest(Graph((M,))) == digest(Graph((sparse.csr_array(M),)))
    True
    """
    found = hashlib.sha256()
    for layer in graph.layers:
        entries = sparse.coo_array(layer)
        rows, columns = entries.coords
        kept = np.flatnonzero(entries.data)
        kept = kept[np.lexsort((columns[kept], rows[kept]))]
        found.update(f"{graph.n} {len(kept)}\n".encode("ascii"))
        for values, kind in ((rows, "<i8"), (columns, "<i8"), (entries.data, "<f8")):
            found.update(np.ascontiguousarray(values[kept], dtype=kind).tobytes())
    return found.hexdigest()


def facts(asked: Asked, result: MatchResult) -> Iterator[tuple[str, str]]:
    """Yield what is to be known of a match as a whole, each with its name."""
    layers = len(asked.A.layers)
    yield "vertices", f"{asked.A.n:,} and {asked.B.n:,}"
    yield "edges", f"{edges(asked.A):,} and {edges(asked.B):,}" + (f" in {layers} layers" if layers > 1 else "")
    yield "matched", f"{result.matches:,}" + (f", {result.seeds:,} of them given" if result.seeds else "")
    side = "above" if result.maximize else "below"
    bound = f" (none is {side} {result.bound:,.6g})" if isfinite(result.bound) else ""
    yield "score", f"{result.score:,.10g}{bound}"
    yield "alignment strength", _strength(asked, result)
    for name in ("agreement", "confidence", "stability"):
        values = getattr(result, name)
        if values is not None and np.isfinite(values).any():
            yield name, f"{np.nanmean(values):.3f} on average, {np.nanmin(values):.3f} at least"
    yield "time", f"{result.seconds:.2f} s, {counted(asked.starts, 'start')}, {result.method}"
    yield "status", result.message


def _strength(asked: Asked, result: MatchResult) -> str:
    if isnan(result.alignment_strength):
        return "undefined: all matches agree alike"
    above = chance(asked.A.layers, asked.B.layers, result.indices_A, result.indices_B)
    if isnan(above):
        return f"{result.alignment_strength:.4f}"
    side, size = "above" if above >= 0 else "below", abs(above)
    deviations = f"{size:.1f}" if size < 100 else f"{size:,.0f}"
    return f"{result.alignment_strength:.4f} ({deviations} standard deviations {side} random matches)"


def least_sure(asked: Asked, result: MatchResult, count: int) -> list[list[str]]:
    """Return the matches that are least sure: their vertices, confidence, agreement and the runner-up."""
    rows = []
    for k in result.least_sure(count):
        agreement, other = result.agreement[k], runner_up(asked, result, int(k))
        rows.append(
            [
                str(asked.name_A(int(result.indices_A[k]))),
                str(asked.name_B(int(result.indices_B[k]))),
                f"{result.confidence[k]:.3f}",
                "–" if isnan(agreement) else f"{agreement:.3f}",
                "–" if other is None else other,
            ]
        )
    return rows


def runner_up(asked: Asked, result: MatchResult, k: int) -> str | None:
    """Return the vertex of B that comes next for a match, None if there is none."""
    if not result.runners_up.size or result.runners_up[k, 0] < 0:
        return None
    return str(asked.name_B(int(result.runners_up[k, 0])))


def show(asked: Asked, result: MatchResult, *, listed: bool) -> None:
    """Print the answer as a small table, the matches that are least sure, and where none is written all others."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False, emoji=False)  # a file name is no markup
    title = f"{asked.path_A.name} and {asked.path_B.name}"
    table = Table(title=title, show_header=False, title_justify="left")
    for name, value in facts(asked, result):
        table.add_row(name, value)
    console.print(table)
    rows = least_sure(asked, result, LEAST_SURE)
    if rows:
        doubtful = Table("A", "B", "confidence", "agreement", "runner-up", title="least sure", title_justify="left")
        for row in rows:
            doubtful.add_row(*row)
        console.print(doubtful)
    if not listed:
        return
    pairs = zip(result.indices_A.tolist(), result.indices_B.tolist(), strict=True)
    if result.matches <= LISTED:
        console.print("match: " + ", ".join(f"{asked.name_A(i)}={asked.name_B(j)}" for i, j in pairs), soft_wrap=True)
    else:
        console.print(f"all {result.matches:,} matches go to a table with --csv FILE", soft_wrap=True)


def write_json(path: Path, asked: Asked, result: MatchResult) -> None:
    """Write the result in one step; labels are those of the matched vertices, as text where JSON knows no better."""
    record = {
        "A": asked.path_A.name,
        "B": asked.path_B.name,
        "edges_A": edges(asked.A),
        "edges_B": edges(asked.B),
        "layers": len(asked.A.layers),
        "index_base": 0,
        **result.to_dict(),
        "data_sha256_A": digest(asked.A),
        "data_sha256_B": digest(asked.B),
        "seed": asked.seed,
        "starts": asked.starts,
        "version": trisplit.__version__,
    }
    _write("--json", path, json.dumps(plain(record), allow_nan=False) + "\n")


def write_csv(path: Path, asked: Asked, result: MatchResult) -> None:
    """Write a line for each match, in the order of A, then vertices of A and of B that have no partner."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for k in np.argsort(result.indices_A, kind="stable"):
        numbers = [result.confidence[k], result.agreement[k], None if result.stability is None else result.stability[k]]
        other = runner_up(asked, result, int(k))
        names = asked.name_A(int(result.indices_A[k])), asked.name_B(int(result.indices_B[k]))
        writer.writerow([*names, *map(_number, numbers), "" if other is None else other])
    for vertex in result.unmatched_A.tolist():
        writer.writerow([asked.name_A(vertex), "", "", "", "", ""])
    for vertex in result.unmatched_B.tolist():
        writer.writerow(["", asked.name_B(vertex), "", "", "", ""])
    _write("--csv", path, text.getvalue())


def _number(value: float | None) -> str:
    return "" if value is None or isnan(value) else f"{value:.6g}"


def _write(option: str, path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise InputError(f"{option} {path} cannot be written ({error.strerror}); choose another path") from error

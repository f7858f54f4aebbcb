"""trisplit match: which vertex of one graph is which of another, and how sure that is."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from trisplit.cli.display import Display
from trisplit.cli.outputs import check_paths
from trisplit.cli.signals import Signals
from trisplit.errors import InputError

LONG = 1500  # vertices from which a search says first what it will take


def match(
    a: Annotated[Path, typer.Argument(metavar="A", help="A graph: .npz, .npy, .mtx, .graphml, or a list of edges.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The graph to match it with.")],
    seeds: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Matches that are known: a vertex of A and one of B a line.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(metavar="tos|concave|faq|transport", help="How to search [default: tos].")
    ] = None,
    starts: Annotated[int | None, typer.Option(min=1, help="Starts; several show how stable a match is.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same answer.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Starts that run at a time.")] = None,
    padding: Annotated[
        str, typer.Option(metavar="naive|adopted", help="What vertices without a counterpart are compared with.")
    ] = "naive",
    minimize: Annotated[bool, typer.Option("--minimize", help="Look for the least overlap, not the largest.")] = False,
    directed: Annotated[bool, typer.Option("--directed", help="Lists of edges give directions.")] = False,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the result to this file.")] = None,
    csv_path: Annotated[Path | None, typer.Option("--csv", help="Write the matches to this table.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Write a page that shows the match.")] = None,
) -> None:
    """Match the vertices of two graphs and say how sure each match is."""
    from trisplit.cli import match_output
    from trisplit.matching import api
    from trisplit.matching.files import read_graph, read_seeds

    outputs = {"--json": json_path, "--csv": csv_path, "--report": report}
    check_paths({option: path for option, path in outputs.items() if path is not None})
    check_inputs(outputs, [a, b, *([seeds] if seeds is not None else [])])
    A, B = (read_graph(path, directed=directed) for path in (a, b))
    known = None if seeds is None else read_seeds(seeds, A, B)
    asked = {"n_init": starts, "method": method, "n_jobs": workers}
    options = {name: value for name, value in asked.items() if value is not None}
    with Signals() as signals:
        try:
            with Display(f"{a.name}, {b.name}", endless=True) as update:
                result = api.graph_match(
                    A,
                    B,
                    partial_match=known,
                    padding=padding,
                    maximize=not minimize,
                    rng=seed,
                    verbose=Lines(update, announced=max(A.n, B.n) - (0 if known is None else len(known)) >= LONG),
                    **options,
                )
        except KeyboardInterrupt:
            print("trisplit: interrupted before there was an answer", file=sys.stderr)
            raise typer.Exit(signals.exit_status) from None
        asked_of = match_output.Asked(a, b, A, B, seed, starts or 1)
        try:
            if json_path is not None:
                match_output.write_json(json_path, asked_of, result)
            if csv_path is not None:
                match_output.write_csv(csv_path, asked_of, result)
        finally:  # a full disk must not cost the answer, nor a closed pipe the file
            match_output.show(asked_of, result, listed=json_path is None and csv_path is None)
        if report is not None:
            from trisplit.cli.match_report import write_report

            write_report(report, asked_of, result)
    if signals.caught:
        raise typer.Exit(signals.exit_status)


def check_inputs(outputs: dict[str, Path | None], inputs: list[Path]) -> None:
    """Raise an `InputError` if what is read would be written over."""
    for option, path in outputs.items():
        for read in inputs:
            with suppress(OSError):
                if path is not None and path.samefile(read):
                    raise InputError(f"{option} {path} is read by this command; choose another path")


class Lines:
    """Shows the lines that a search reports; the first, which says what a large one takes, stays on standard error."""

    def __init__(self, update: Callable[[str, float], None], *, announced: bool) -> None:
        self.update, self.announced = update, announced

    def __call__(self, text: str) -> None:
        if self.announced:
            print(f"trisplit: {text}", file=sys.stderr)
            self.announced = False
        self.update(text, 0.0)

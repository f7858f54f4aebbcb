"""trisplit solve: a good permutation for one quadratic assignment problem, and how good it is."""

import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, TextIO

import typer

import trisplit
from trisplit import qap
from trisplit.cli.display import counted
from trisplit.cli.outputs import check_paths, write_text
from trisplit.cli.signals import Signals
from trisplit.errors import GPUWarning, InputError
from trisplit.qap.islands import RECIPES
from trisplit.qap.solver import DEFAULT_STARTS


def solve(
    problem: Annotated[str, typer.Argument(metavar="NAME|FILE.dat", help="A bundled instance or a QAPLIB file.")],
    time_limit: Annotated[float | None, typer.Option(help="Seconds.")] = None,
    starts: Annotated[int | None, typer.Option(min=1, help="Starts [default: 10, or until the time limit].")] = None,
    polish: Annotated[bool, typer.Option("--polish/--no-polish", help="Go on with memetic tabu search.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same answer.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Threads [default: all cores].")] = None,
    device: Annotated[
        str,
        typer.Option(metavar="cpu|cuda|cuda:K|auto", help="Let a GPU take part; needs PyTorch. auto: if there is one."),
    ] = "cpu",
    target: Annotated[float | None, typer.Option(help="Stop at this cost.")] = None,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the result to this file.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the search in this file; if it exists, go on from there.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page that shows the search and a start.")
    ] = None,
) -> None:
    """Find a good permutation for a quadratic assignment problem and say how good it is."""
    instance = find(problem)
    paths = {"--json": json_path, "--checkpoint": checkpoint, "--report": report}
    check_paths({option: path for option, path in paths.items() if path is not None})
    with Signals() as signals:
        try:
            with (
                Display(instance, starts, time_limit, polish=polish, device=device) as display,
                one_line_each() as said,
            ):
                result = qap.solve(
                    instance,
                    starts=starts,
                    polish=polish,
                    time_limit=time_limit,
                    target=target,
                    workers=workers,
                    device=device,
                    rng=seed,
                    callback=lambda row: display.update(row) or signals.caught,
                    checkpoint=checkpoint,
                )
        except KeyboardInterrupt:
            print("trisplit: interrupted before there was an answer", file=sys.stderr)
            raise typer.Exit(signals.exit_status) from None
        if device != "cpu" and result.device == "cpu" and not any("GPU" in line for line in said):
            print("trisplit: no GPU took part: the search was over before one was ready", file=sys.stderr)
        if signals.caught:
            result = replace(result, status=qap.QAPStatus.INTERRUPTED)
        try:
            if json_path is not None:
                write_json(json_path, instance, result)
        finally:  # a full disk must not cost the answer, nor a closed pipe the file
            show(instance, result)
        if report is not None:
            from trisplit.cli.solve_report import write_report

            write_report(report, instance, result)
    if signals.caught:
        raise typer.Exit(signals.exit_status)


@contextmanager
def one_line_each() -> Iterator[list[str]]:
    """Print why no GPU takes part in a line, whatever Python is told to do with warnings."""
    said: list[str] = []
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show_line(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, GPUWarning):
                others(message, category, filename, lineno, file, line)
                return
            text = " ".join(str(message).split())
            if text not in said:
                said.append(text)
                print(f"trisplit: {text}", file=sys.stderr)

        warnings.showwarning = show_line
        warnings.filterwarnings("always", category=GPUWarning)
        yield said


def find(problem: str) -> qap.Instance:
    """Return the instance that an argument means: a file if it looks like one, else a bundled name."""
    looks_like_file = os.path.exists(problem) or os.sep in problem or problem.endswith(".dat")
    return qap.read(problem) if looks_like_file and problem not in qap.names() else qap.load(problem)


class Display:
    """A progress line on standard error with the best cost, bound and gap; silent unless that is a terminal."""

    def __init__(
        self, instance: qap.Instance, starts: int | None, time_limit: float | None, *, polish: bool, device: str
    ) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        self.starts = starts or (DEFAULT_STARTS if time_limit is None else None)
        if device != "cpu" and self.starts is not None:
            self.starts = min(self.starts, DEFAULT_STARTS)  # all others are done by the GPU in one turn
        self.time_limit, self.made, self.begin = time_limit, perf_counter(), None
        # Those of the processor tell how far the search is: a GPU has its turns between them, and tells of gains alone.
        self.turns = {"start": 0} | ({recipe.name: 0 for recipe in RECIPES} if polish else {})
        self.bar = Progress(
            TextColumn("{task.fields[label]}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("first start", total=1.0, label=f"{instance.name} (n = {instance.n})")

    def __enter__(self) -> "Display":
        self.bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()

    def update(self, row: qap.QAPTraceRow) -> None:
        """Show what one member of the search has done."""
        if row.member in self.turns:
            self.turns[row.member] += 1
        now = perf_counter()
        if self.begin is None:  # that of the search: code was loaded before; a row may tell of seconds of earlier runs
            self.begin = max(now - row.seconds, self.made)
        used = max(
            sum(self.turns.values()) / len(self.turns) / self.starts if self.starts else 0.0,
            (now - self.begin) / self.time_limit if self.time_limit else 0.0,
        )
        said = f"best cost {row.best:,}"
        if row.bound is not None:
            said += f", bound {row.bound:,}, gap {100 * (row.best - row.bound) / max(abs(row.best), 1):.2f} %"
        self.bar.update(self.task, completed=min(used, 1.0), description=said)


def show(instance: qap.Instance, result: qap.QAPResult) -> None:
    """Print the answer as a small table, then the permutation."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{instance.name}, n = {instance.n}", show_header=False, title_justify="left")
    table.add_row("cost", f"{result.cost:,}")
    known = "unknown" if result.best_known is None else f"{result.best_known:,}"
    table.add_row("best known", known + (" (proven optimal)" if instance.proven else ""))
    table.add_row("gap", "unknown" if result.gap is None else f"{100 * result.gap:.3f} %")
    if result.bound is not None and result.bound_gap is not None:
        proof = (
            "proven optimal"
            if result.bound_gap <= 0
            else f"the optimum is at most {100 * result.bound_gap:.2f} % lower"
        )
        table.add_row("lower bound", f"{result.bound.value:,} ({result.bound.method}): {proof}")
    relaxed = result.relaxation
    if relaxed is not None:
        certificate = relaxed.certificate
        stationarity = abs(certificate.stationarity) / max(relaxed.fun, 1.0)
        infeasibility = certificate.infeasibility / instance.n**0.5
        table.add_row("certificate", f"stationarity {stationarity:.1e}, infeasibility {infeasibility:.1e} (relaxation)")
    work = ", ".join(
        counted(number, noun)
        for number, noun in ((result.starts, "start"), (result.moves, "tabu move"), (result.restarts, "face restart"))
        if number
    )
    table.add_row("time", f"{result.elapsed:.2f} s, {work}")
    if result.device != "cpu":
        table.add_row("device", f"{result.device}, beside the processor")
    table.add_row("status", result.message)
    console = Console(highlight=False, markup=False, emoji=False)  # a file name is no markup
    console.print(table)
    console.print("permutation (counted from 0): " + " ".join(map(str, result.permutation.tolist())), soft_wrap=True)


def write_json(path: Path, instance: qap.Instance, result: qap.QAPResult) -> None:
    """Write the result in one step, so that a full disk or a kill leaves no half-written file.

    A device or a pipe, such as /dev/stdout, is written to; a link is followed.
    """
    record = {
        "instance": instance.name,
        "n": instance.n,
        "permutation": result.permutation.tolist(),
        "index_base": 0,
        "cost": result.cost,
        "best_known": result.best_known,
        "gap": result.gap,
        "lower_bound": result.lower_bound,
        "bound_gap": result.bound_gap,
        "bound_certificate": None if result.bound is None else result.bound.certificate,
        "data_sha256": instance.sha256(),
        "status": result.status.name,
        "seconds": result.elapsed,
        "seed": result.seed,
        "starts": result.starts,
        "version": trisplit.__version__,
    }
    try:
        write_text(path, json.dumps(record) + "\n")
    except OSError as error:
        raise InputError(f"--json {path} cannot be written ({error.strerror}); choose another path") from error

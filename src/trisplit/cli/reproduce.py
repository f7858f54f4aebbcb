"""trisplit reproduce: the figures and claims of [YMS21], computed again, with a report."""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from trisplit import qap
from trisplit.cli.display import Display
from trisplit.cli.folders import make_folder, unwritable
from trisplit.errors import InputError

if TYPE_CHECKING:
    from trisplit.paper.run_store import RunStore

LIMITS = "tolerance {tol:g}, at most {max_iter:,} iterations or {time_limit:g} s"


class Options(NamedTuple):
    """What the command line asks for, and what it said."""

    out: Path
    quick: bool
    workers: int | None
    device: str
    instances: list[str] | None
    command: str


def reproduce(
    name: Annotated[str, typer.Argument(metavar="figure1|figure2|theory|all", help="What to compute.")],
    quick: Annotated[bool, typer.Option("--quick", help="Few instances and one seed, in a minute.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="For CSV, PNG and index.html [default: reproduced, or ...-quick]."),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes of figure2 [default: all cores].")] = None,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="figure2: where TOS with step 1/L runs.")] = "cpu",
    instances: Annotated[str | None, typer.Option(metavar="NAME,NAME", help="figure2: these instances alone.")] = None,
) -> None:
    """Compute the figures of the paper again, test its claims, and write a report to look at.

    figure2 takes hours unless it is quick. Stopped, it loses no finished run: the same command goes on.
    """
    if name not in (*EXPERIMENTS, "all"):
        raise InputError(f"there is no {name!r} to reproduce; choose one of {', '.join(EXPERIMENTS)}, all")
    chosen = list(EXPERIMENTS) if name == "all" else [name]
    if "figure2" not in chosen and (workers is not None or device != "cpu" or instances is not None):
        raise InputError(f"--workers, --device and --instances are for figure2, not for {name}; leave them out")
    out = Path("reproduced-quick" if quick else "reproduced") if out is None else out
    check_device(device)
    given = ["trisplit reproduce", name, *(["--quick"] * quick), *(["--device", device] * (device != "cpu"))]
    given += [] if instances is None else ["--instances", instances]
    options = Options(out, quick, workers, device, chosen_instances(instances), " ".join(given))
    make_folder(out)
    if "figure2" in chosen:  # runs with other settings are refused now, not after the other experiments
        earlier_runs(out, quick).close()
    for one in chosen:
        try:
            EXPERIMENTS[one](options)
        except OSError as error:
            raise unwritable(out, error) from error
        except KeyboardInterrupt:
            kept = f"; {out} keeps the finished runs, the same command goes on" if one == "figure2" else ""
            print(f"trisplit: {one} was interrupted{kept}", file=sys.stderr)
            raise typer.Exit(130) from None
    try:
        finish(out)
    except KeyboardInterrupt:
        print(f"trisplit: interrupted; the results are in {out}, the report is not complete", file=sys.stderr)
        raise typer.Exit(130) from None


def earlier_runs(out: Path, quick: bool) -> "RunStore":
    """Return the finished runs of figure 2 in a folder."""
    from trisplit.paper import figure2 as experiment

    return experiment.open_store(out, quick)


def check_device(device: str) -> None:
    """Raise an `InputError` if the device is not there."""
    if device == "cpu":
        return
    if device != "cuda" and not device.startswith("cuda:"):
        raise InputError(f"--device must be cpu or cuda, got {device!r}")
    if find_spec("torch") is None:
        raise InputError(f"--device {device} needs PyTorch; pip install 'trisplit[torch]'")
    torch = import_module("torch")

    if not torch.cuda.is_available():
        raise InputError(f"--device {device}: PyTorch finds no GPU; leave the option out")


def chosen_instances(names: str | None) -> list[str] | None:
    """Return the names, each once, if all of them are instances."""
    if names is None:
        return None
    chosen = list(dict.fromkeys(part.strip() for part in names.split(",")))
    for one in chosen:
        try:
            qap.load(one)
        except InputError as error:
            raise InputError(f"--instances: {error}") from error
    return chosen


def theory(options: Options) -> None:
    """Measure the errors that the theorems bound."""
    from trisplit.paper import theory as experiment
    from trisplit.paper.results import write_results

    with Display("theory", remaining=True) as report:
        rows = experiment.run(options.quick, report)
    write_results(options.out, "theory", rows, options.command)


def figure1(options: Options) -> None:
    """Follow the methods on two instances, and fit their rates."""
    from trisplit.paper import figure1 as experiment
    from trisplit.paper import timing
    from trisplit.paper.results import write_results

    with Display("figure1", remaining=True) as report:
        rows = experiment.run(options.quick, report)
    write_results(options.out, "figure1", experiment.shown(rows), options.command)
    write_results(options.out, "figure1_rates", experiment.fits(rows), options.command)
    write_results(options.out, "figure1_shares", timing.run(options.quick), options.command)


def figure2(options: Options) -> None:
    """Relax and round with all methods, from all initial points; what an earlier call has finished counts."""
    from trisplit.paper import figure2 as experiment
    from trisplit.paper.results import write_results

    limits = experiment.settings(options.quick)
    with Display("figure2", remaining=True) as report:
        store = experiment.run(
            options.out,
            options.quick,
            report,
            instances=options.instances,
            workers=options.workers,
            device=options.device,
        )
    write_results(
        options.out,
        "figure2",
        experiment.runs(store),
        options.command,
        [LIMITS.format(**limits), *experiment.machines(store)],
    )


EXPERIMENTS: dict[str, Callable[[Options], None]] = {"theory": theory, "figure1": figure1, "figure2": figure2}


def finish(out: Path) -> None:
    """Draw and report what is in the folder, and print the verdicts."""
    from trisplit.paper.claims import verdicts
    from trisplit.paper.pictures import pictures
    from trisplit.paper.report import write_report
    from trisplit.paper.results import read_results
    from trisplit.paper.style import save_figure

    results = read_results(out)
    try:
        drawn = []
        if find_spec("matplotlib") is None:
            print("no pictures: matplotlib is not installed; pip install 'trisplit[plot]'", file=sys.stderr)
        else:
            for name, drawing in pictures(results):
                save_figure(out / f"{name}.png", drawing)
                drawn.append(name)
        write_report(out, results, drawn)
    except OSError as error:
        raise unwritable(out, error) from error
    for verdict in verdicts(results):
        typer.echo(f"{verdict.verdict}: {verdict.claim}\n    {verdict.detail}")
    typer.echo(f"written to {out}; open {out / 'index.html'}")

"""trisplit bench: side by side with other libraries, in one run.

The benchmarks lie in `benchmarks/` of the repository and travel in the wheel as `trisplit.benchmarks`.
"""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

import trisplit
from trisplit.cli.display import Display
from trisplit.cli.folders import make_folder, unwritable
from trisplit.errors import InputError

PACKAGE = "trisplit.benchmarks"
FILE_WIDTH = 120  # characters, where the output is not a terminal


def bench(
    name: Annotated[
        str,
        typer.Argument(
            metavar="core|overhead|terms|stochastic|mapped|relax|multistart|qaplib|ablation|tabu|gpu|matching",
            help="Which benchmark.",
        ),
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, in seconds: shows that it works.")] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write NAME.json and NAME.png.")] = Path("bench"),
    instances: Annotated[
        str | None, typer.Option(metavar="NAME,NAME", help="On QAPLIB, matching: these instances alone.")
    ] = None,
    parts: Annotated[
        str | None, typer.Option(metavar="PART,PART", help="qaplib, ablation, gpu, matching: these parts alone.")
    ] = None,
) -> None:
    """Compare speed with other libraries: print the ratios, write them as JSON and a figure."""
    benchmark, resumable = find(name), collection().registry[name].resumable
    options: dict[str, Any] = {} if instances is None else {"instances": chosen(name, instances, quick)}
    if parts is not None:
        options["parts"] = chosen_parts(name, parts)
    if resumable:
        options["before"] = earlier(out / f"{name}.json")
    make_folder(out)
    record: dict[str, Any] = {"benchmark": name, "quick": quick, **sibling("machine").describe()}
    partial = Partial(out, name, record) if collection().registry[name].by_instance else None
    interrupted = False
    try:
        with Display(name) as report:
            benchmark.run(record, quick, report if partial is None else partial.kept_by(report), **options)
    except KeyboardInterrupt:
        interrupted = True
    if not interrupted:
        write(out, name, record, benchmark)
    show(benchmark.tables(record) if "settings" in record else [], record["missing"])
    if interrupted:
        kept = "no file was written" if partial is None or not partial.save() else f"{partial.path} keeps it"
        print(f"trisplit: interrupted; the tables show what was done, {kept}", file=sys.stderr)
        raise typer.Exit(130)
    if partial is not None and not resumable:
        partial.path.unlink(missing_ok=True)
    typer.echo(f"written to {out}")


def find(name: str) -> ModuleType:
    """Return the module of a benchmark."""
    registry = collection().registry
    if name not in registry:
        raise InputError(f"there is no benchmark {name!r}; choose one of {', '.join(registry)}")
    return sibling(registry[name].module)


def chosen(name: str, instances: str, quick: bool) -> list[str]:
    """Return the names of the instances, each once, if the benchmark takes some and they all exist."""
    registry = collection().registry
    if not registry[name].by_instance:
        takers = ", ".join(other for other in registry if registry[other].by_instance)
        raise InputError(f"--instances is for {takers}, not for {name}; leave it out")
    names = list(dict.fromkeys(part.strip() for part in instances.split(",")))
    choose = getattr(find(name), "choose_lines", None)
    if choose is not None:
        return choose(names, quick)
    for one in names:
        trisplit.qap.load(one)
    return names


def chosen_parts(name: str, parts: str) -> list[str]:
    """Return the names of the parts, each once, if the benchmark has such."""
    registry = collection().registry
    if not registry[name].resumable:
        takers = ", ".join(other for other in registry if registry[other].resumable)
        raise InputError(f"--parts is for {takers}, not for {name}; leave it out")
    names, known = list(dict.fromkeys(part.strip() for part in parts.split(","))), find(name).PARTS
    for one in names:
        if one not in known:
            raise InputError(f"{name} has no part {one!r}; choose some of {', '.join(known)}")
    return names


def earlier(path: Path) -> dict[str, Any] | None:
    """Return the record of an earlier run, None if there is none."""
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(record, dict) and "rows" in record:
            return record
    except (OSError, ValueError):
        pass
    raise InputError(f"{path} is not what an earlier run has written; choose another --out, or delete it")


def sibling(name: str) -> ModuleType:
    """Return a module of the benchmarks."""
    collection()
    return import_module(f"{PACKAGE}.{name}")


def collection() -> ModuleType:
    """Return the package of the benchmarks: that of the wheel, or the folder of the clone that is being used."""
    if PACKAGE in sys.modules:
        return sys.modules[PACKAGE]
    if find_spec(PACKAGE) is not None:
        return import_module(PACKAGE)
    folder = Path(trisplit.__file__).resolve().parents[2] / "benchmarks"
    spec = spec_from_file_location(PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None or not folder.is_dir():
        raise InputError(f"the benchmarks are not installed, nor in {folder}; reinstall trisplit")
    module = module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)
    return module


def write(folder: Path, name: str, record: dict[str, Any], benchmark: ModuleType) -> None:
    """Write the record as JSON, and the figure where matplotlib is installed."""
    save(folder / f"{name}.json", record)
    try:
        if find_spec("matplotlib") is None:
            print("no figure: matplotlib is not installed; pip install 'trisplit[plot]'", file=sys.stderr)
        else:
            from trisplit.paper.style import save_figure

            save_figure(folder / f"{name}.png", benchmark.figure(record))
    except OSError as error:
        raise unwritable(folder, error) from error


def save(path: Path, record: dict[str, Any]) -> None:
    """Write the record as JSON."""
    try:
        sibling("report").write_json(path, record)
    except OSError as error:
        raise unwritable(path.parent, error) from error


class Partial:
    """What a benchmark of hours has measured so far: NAME.partial.json until NAME.json is there.

    One that can go on from there writes NAME.json itself.
    """

    def __init__(self, folder: Path, name: str, record: dict[str, Any]) -> None:
        ending = "json" if collection().registry[name].resumable else "partial.json"
        self.path, self.record = folder / f"{name}.{ending}", record

    def save(self) -> bool:
        """Write what there is, and say whether there was anything."""
        if self.record.get("rows"):
            save(self.path, self.record)
        return bool(self.record.get("rows"))

    def kept_by(self, report: Callable[[str, float], None]) -> Callable[[str, float], None]:
        """Return a report that saves first."""

        def saving(text: str, done: float) -> None:
            self.save()
            report(text, done)

        return saving


def show(tables: list[Any], missing: list[str]) -> None:
    """Print the tables, and which libraries were not there to be compared with."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    width = None if sys.stdout.isatty() else FILE_WIDTH
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    for table in tables:
        shown = Table(title=table.title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
        for k, column in enumerate(table.columns):
            shown.add_column(column, justify="left" if k == 0 else "right")
        for row in table.rows:
            shown.add_row(*row)
        console.print(shown)
    if missing:
        remedy = sibling("machine").REMEDY
        console.print(f"not compared with {', '.join(missing)}: not installed; {remedy}", soft_wrap=True)

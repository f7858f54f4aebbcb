"""The tables and figures of the benchmarks, made from `benchmarks/results/` when the documentation is built."""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from terms_table import escape, table

from trisplit.cli.bench import find

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"


class BenchmarkTables(SphinxDirective):
    """`{benchmark-tables} NAME`: what `trisplit bench NAME` printed, and where."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the tables, each after its title, and a line about the machine."""
        name = self.arguments[0]
        path = RESULTS / f"{name}.json"
        self.env.note_dependency(str(path))
        if not path.exists():
            return self.parse_text_to_nodes(f"*No results are there yet; `trisplit bench {name}` makes them.*")
        record = json.loads(path.read_text(encoding="utf-8"))
        parts = [f"*{machine(record)}*"]
        for one in find(name).tables(record):
            rows = [[escape(cell) for cell in row] for row in one.rows]
            parts.append(f"**{escape(one.title)}**\n\n{table(one.columns, rows)}")
        return self.parse_text_to_nodes("\n\n".join(parts))


class BenchmarkFigure(SphinxDirective):
    """`{benchmark-figure} NAME`: what `trisplit bench NAME` has drawn, if it has; what it shows is the content."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the figure."""
        path = RESULTS / f"{self.arguments[0]}.png"
        self.env.note_dependency(str(path))
        if not path.exists():
            return []
        return self.parse_text_to_nodes(f"![{' '.join(self.content)}](../benchmarks/results/{path.name})")


def machine(record: dict[str, Any]) -> str:
    """Return where and with what a benchmark ran, in a sentence."""
    where, versions = record["machine"], record["versions"]
    libraries = ", ".join(f"{name} {number}" for name, number in versions.items() if number and name != "python")
    memory = "" if where["memory_gib"] is None else f", {where['memory_gib']:.0f} GiB of memory"
    hardware = f"{where['cpu']}, {where['cores']} cores{memory}, {where['system']}"
    if "device" in record:  # a GPU, with the versions of what computes on it
        card = record["device"]
        hardware = f"{card['name']} with {card['memory_gib']:.0f} GiB, next to {hardware}"
        libraries += ", " + ", ".join(f"{name} {card[name]}" for name in card if name not in ("name", "memory_gib"))
    software = f"Python {versions['python']}, {libraries}"
    return f"Measured on {record['date']} with trisplit {record['version']} on {hardware}; {software}."


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("benchmark-tables", BenchmarkTables)
    app.add_directive("benchmark-figure", BenchmarkFigure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

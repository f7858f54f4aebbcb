"""The reproduction of [YMS21] in the documentation, made from the CSV files in `docs/reproduced/` at every build."""

from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from terms_table import escape, table

from trisplit.paper import tables
from trisplit.paper.claims import verdicts
from trisplit.paper.pictures import pictures
from trisplit.paper.results import Results, read_results
from trisplit.paper.style import save_figure
from trisplit.report.render import SIGNS, cell_text

RESULTS = Path(__file__).resolve().parents[1] / "reproduced"
DRAWN = Path(__file__).resolve().parents[1] / "_drawn"


@cache
def results() -> Results:
    """Return what the files hold."""
    return read_results(RESULTS)


class PaperDirective(SphinxDirective):
    """A directive whose output changes with the files."""

    def depend(self) -> None:
        for path in RESULTS.glob("*.csv"):
            self.env.note_dependency(str(path))


class PaperVerdicts(PaperDirective):
    """`{paper-verdicts}`: each claim with what became of it."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.depend()
        rows = [
            [f"{SIGNS[one.verdict]} {one.verdict}", escape(one.claim), escape(one.detail)]
            for one in verdicts(results())
        ]
        return self.parse_text_to_nodes(table(("", "claim", "measured"), rows))


class PaperTable(PaperDirective):
    """`{paper-table} NAME`: a table of `trisplit.paper.tables`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table and its note."""
        self.depend()
        found = getattr(tables, self.arguments[0])(results())
        rows = [[escape(cell_text(cell)) for cell in row] for row in found.rows]
        return self.parse_text_to_nodes(f"{table(found.columns, rows)}\n\n{escape(found.note)}")


class PaperFigure(PaperDirective):
    """`{paper-figure} NAME`: a picture of `trisplit.paper.pictures`; what it shows is the content."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        self.depend()
        return self.parse_text_to_nodes(f"![{' '.join(self.content)}](_drawn/{self.arguments[0]}.png)")


class PaperOrigin(PaperDirective):
    """`{paper-origin}`: what made each file."""

    def run(self) -> list[nodes.Node]:
        """Return a list."""
        self.depend()
        lines = [f"- `{name}.csv`: {escape('; '.join(made))}" for name, made in results().made_by.items() if made]
        return self.parse_text_to_nodes("\n".join(lines))


def draw(app: Sphinx) -> None:
    """Draw all pictures before the pages are read."""
    DRAWN.mkdir(exist_ok=True)
    for name, drawing in pictures(results()):
        save_figure(DRAWN / f"{name}.png", drawing)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("paper-verdicts", PaperVerdicts)
    app.add_directive("paper-table", PaperTable)
    app.add_directive("paper-figure", PaperFigure)
    app.add_directive("paper-origin", PaperOrigin)
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

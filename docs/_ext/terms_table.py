"""The tables of terms and of joint oracles, made from the registries when the documentation is built."""

import inspect
from collections.abc import Sequence

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import trisplit as ts

OPTIONAL = ("project", "distance", "support", "lmo", "diameter", "lipschitz", "conjugate")


class TermsTable(SphinxDirective):
    """`{terms-table}`: one row for each line of `trisplit.terms.registry`."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = [
            (f"`{name}`", link(cls), escape(summary(cls)), capabilities(cls)) for name, cls in ts.terms.registry.items()
        ]
        return self.parse_text_to_nodes(table(("name", "class", "what it is", "kind and capabilities"), rows))


class OraclesTable(SphinxDirective):
    """`{oracles-table}`: one row for each line of `trisplit.terms.joint_oracles`."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = [(link(g), link(h)) for g, h in ts.terms.joint_oracles]
        return self.parse_text_to_nodes(table(("one term", "the other"), rows))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def link(cls: type) -> str:
    """Return a reference to the class in the API pages."""
    return "any term" if cls is object else f"{{py:class}}`~trisplit.terms.{cls.__name__}`"


def summary(cls: type) -> str:
    """Return the first paragraph of the docstring without its last full stop."""
    paragraph = inspect.getdoc(cls).partition("\n\n")[0]  # pyright: ignore[reportOptionalMemberAccess]
    return " ".join(paragraph.split()).removesuffix(".")


def capabilities(cls: type) -> str:
    """Return "set" or "function", and the optional methods that the class has."""
    kind = "set" if getattr(cls, "indicator", False) else "function"
    convex = [] if getattr(cls, "convex", False) else ["not convex"]
    return ", ".join([kind, *convex, *(f"`{name}`" for name in OPTIONAL if hasattr(cls, name))])


def escape(text: str) -> str:
    """Keep Markdown from reading a formula as markup."""
    for mark in "\\|*_<>[]{}":
        text = text.replace(mark, "\\" + mark)
    return text


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("terms-table", TermsTable)
    app.add_directive("oracles-table", OraclesTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

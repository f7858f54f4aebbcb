"""The tables of terms, joint oracles and losses, made from the registries when the documentation is built."""

import inspect
from collections.abc import Sequence
from math import inf
from types import ModuleType

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import trisplit as ts
from trisplit.terms.base import CAPABILITIES

HEAD = ("name", "what it is", "kind", "capabilities", "cost")


class TermsTable(SphinxDirective):
    """`{terms-table}`: a section for each file of terms, one row for each line of `trisplit.terms.registry`."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        names = {cls: name for name, cls in ts.terms.registry.items()}
        sections = []
        for file in ts.terms.FILES:
            rows = [row(names[cls], cls) for cls in (getattr(file, each) for each in file.__all__)]
            path = file.__name__.replace(".", "/")
            about = f"`src/{path}.py`, {len(rows)} terms" if len(rows) > 1 else f"`src/{path}.py`, one term"
            sections.append(f"### {heading(file)}\n\n{about}.\n\n{table(HEAD, rows)}\n")
        return self.parse_text_to_nodes("\n".join(sections), allow_section_headings=True)


class TermsCount(SphinxDirective):
    """`{terms-count}`: how many terms there are, and of which kind."""

    def run(self) -> list[nodes.Node]:
        """Return a sentence."""
        terms = list(ts.terms.registry.values())
        sets = sum(term.indicator is True for term in terms)
        convex = sum(term.convex is True for term in terms)
        return self.parse_text_to_nodes(f"There are **{len(terms)} terms**: {sets} sets, {convex} of all are convex.")


def row(name: str, cls: type) -> tuple[str, ...]:
    """Return a row of the table."""
    return f"{link(cls)}<br>`{name}`", escape(summary(cls)), kind(cls), capabilities(cls), escape(cost(cls))


def heading(file: ModuleType) -> str:
    """Return the first sentence of a file's docstring, up to a colon, without its full stop."""
    return (file.__doc__ or "").partition("\n")[0].partition(":")[0].removesuffix(".")


class OraclesTable(SphinxDirective):
    """`{oracles-table}`: one row for each line of `trisplit.terms.joint_oracles`."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = [(link(g), link(h)) for g, h in ts.terms.joint_oracles]
        return self.parse_text_to_nodes(table(("one term", "the other"), rows))


class LossesTable(SphinxDirective):
    """`{losses-table}`: one row for each line of `trisplit.losses.registry`, the files in order."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = [loss_row(name, cls) for name, cls in ts.losses.registry.items()]
        head = ("name", "what it is", "convex", "smoothness constant", "of samples")
        return self.parse_text_to_nodes(table(head, rows))


def loss_row(name: str, cls: type) -> tuple[str, ...]:
    """Return a row of the table; what differs between examples depends on the data."""
    losses = [loss for loss, _ in cls.examples()]
    convex = {loss.convex for loss in losses}
    known = losses[0].lipschitz is not None
    words = "yes" if convex == {True} else "no" if convex == {False} else "if $Q$ is"
    tangent = ", on the tangent space too" if hasattr(losses[0], "tangent_lipschitz") else ""
    each = issubclass(cls, ts.losses.FiniteSum)
    cells = ("yes" + tangent if known else "none", "yes" if each else "no sum")
    return f"{link(cls)}<br>`{name}`", escape(summary(cls)), words, *cells


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def link(cls: type) -> str:
    """Return a reference to the class in the API pages."""
    room = ".".join(cls.__module__.split(".")[:2])
    return "any term" if cls is object else f"{{py:class}}`~{room}.{cls.__name__}`"


def summary(cls: type) -> str:
    """Return the first paragraph of the docstring without its last full stop."""
    paragraph = inspect.getdoc(cls).partition("\n\n")[0]  # pyright: ignore[reportOptionalMemberAccess]
    return " ".join(paragraph.split()).removesuffix(".")


def kind(cls: type) -> str:
    """Return in words whether it is a set or a function, and convex."""
    example = cls.examples()[0][0]  # of a term made of terms, it depends on these
    words = "set" if example.indicator else "function"
    return words if example.convex else f"{words}, not convex"


def capabilities(cls: type) -> str:
    """Return the optional methods that the examples of the class have."""
    examples = [term for term, _ in cls.examples()]
    shown = [name for name in CAPABILITIES if name != "domain" and any(hasattr(term, name) for term in examples)]
    finite = any(term.lipschitz(shape) < inf for term, shape in cls.examples())
    words = ", ".join(f"`{name}`" for name in shown if name != "lipschitz" or finite)
    return words + (f"; on the host: {escape(examples[0].host)}" if examples[0].host else "")


def cost(cls: type) -> str:
    """Return how the time of a proximal map grows."""
    return cls.examples()[0][0].cost


def escape(text: str) -> str:
    """Keep Markdown from reading a formula as markup."""
    for mark in "\\|*_<>[]{}":
        text = text.replace(mark, "\\" + mark)
    return text


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("terms-table", TermsTable)
    app.add_directive("terms-count", TermsCount)
    app.add_directive("oracles-table", OraclesTable)
    app.add_directive("losses-table", LossesTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

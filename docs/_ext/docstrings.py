"""Docstrings are plain text with formulas: keep reStructuredText from reading |x| and x_ as markup."""

import re

from sphinx.application import Sphinx

LITERAL = re.compile(r"(`[^`]*`)")
MARKUP = re.compile(r"\||(?<=\w)_(?=\W|$)|\*(?=\w)")


def escape(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Put a backslash in front of characters that mean something else in a formula; leave examples alone."""
    in_example = False
    for i, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            parts = LITERAL.split(line)
            parts[::2] = [MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
            lines[i] = "".join(parts)


def skip(app: Sphinx, what: str, name: str, obj: object, unwanted: bool, options: object) -> bool | None:
    """Leave out the fields of named tuples, whose docstrings say only "Alias for field number 0"."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def shorten(
    app: Sphinx, what: str, name: str, obj: object, options: object, signature: str | None, returns: str | None
) -> tuple[str, str] | None:
    """Leave out the signature of a protocol, which is nothing to call."""
    return ("", "") if getattr(obj, "_is_protocol", False) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to autodoc, before napoleon adds markup of its own."""
    app.connect("autodoc-process-docstring", escape, priority=100)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

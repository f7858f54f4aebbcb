"""The page around the blocks: one file of HTML that loads nothing and runs no script but its own.

A content security policy says so to the browser too: it names the scripts and the style by their hashes, so that even
markup which slipped in through a hole in the escaping could neither run nor reach the network.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path

from trisplit.errors import InputError
from trisplit.files import write_whole
from trisplit.report.blocks import Section
from trisplit.report.charts import Chart
from trisplit.report.render import paragraphs, prose, section_html

SCRIPTS = ("scale.js", "draw.js", "bars.js", "controls.js", "reading.js", "chart.js", "frames.js", "start.js")
NO_SCRIPT = "The charts need JavaScript, which is switched off here. The text and the tables work without it."


def write_page(
    path: Path | str, title: str, subtitle: str = "", sections: Sequence[Section] = (), footer: str = ""
) -> None:
    """Write a report into one HTML file.

    Parameters
    ----------
    path : Path or str
        The file, which is replaced in one step.
    title, subtitle : str
        The heading.
    sections : sequence of Section
        What the page shows; a table of contents links to them.
    footer : str
        What stands at the end, such as versions and the machine.

    Raises
    ------
    InputError
        If two charts have one id, or a picture is of no known format.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from trisplit.report import Chart, Section, Series, Text
    >>> chart = Chart("fig-1", "Convergence", "lines", [Series("TOS", [1, 10], [1.0, 0.1])], "iteration", "residual")
    >>> with TemporaryDirectory() as folder:
    ...     write_page(f"{folder}/report.html", "A report", "One figure", [Section("Figure 1", [Text("So:"), chart])])
    """
    write_whole(Path(path), page(title, subtitle, sections, footer))


def page(title: str, subtitle: str = "", sections: Sequence[Section] = (), footer: str = "") -> str:
    """Return the text of the file that `write_page` writes."""
    links = _links(sections)
    taken = {"top", "main"} | {part for one in links for part in (one, f"{one}-title")}

    def new_id(words: str) -> str:
        stem = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:40] or "part"
        stem = stem if stem[0].isalpha() else f"part-{stem}"
        names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(taken) + 2))
        found = next(name for name in names if taken.isdisjoint((name, f"{name}-title")))
        taken.update((found, f"{found}-title"))
        return found

    anchors = [new_id(section.title) for section in sections]
    script, style = own_script(), own_style()
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    contents = "\n".join(
        f'<li><a href="#{anchor}">{escape(section.title)}</a></li>'
        for anchor, section in zip(anchors, sections, strict=True)
    )
    subheading = f'<p class="subtitle">{prose(subtitle)}</p>' if subtitle else ""
    body = "\n".join(section_html(one, name, links, new_id) for name, one in zip(anchors, sections, strict=True))
    text = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body id="top">
<a class="skip" href="#main">Skip to the content</a>
<header>
<h1>{escape(title)}</h1>
{subheading}
</header>
<nav aria-label="Contents"><ol>
{contents}
</ol></nav>
<noscript><p class="noscript">{NO_SCRIPT}</p></noscript>
<main id="main" tabindex="-1">
{body}
</main>
<footer>
{paragraphs(footer)}
</footer>
<script>{script}</script>
</body>
</html>
"""
    return text.encode("utf-8", "replace").decode("utf-8")  # a file name may hold what is no text at all


def _links(sections: Sequence[Section]) -> dict[str, str]:
    charts = [block for section in sections for block in section.blocks if isinstance(block, Chart)]
    links: dict[str, str] = {}
    for chart in charts:
        if chart.id in links:
            raise InputError(f"`id` of a chart must be the only one of its name, got {chart.id!r} twice")
        links[chart.id] = chart.title
    return links


@cache
def own_script() -> str:
    """Return the scripts as one, with nothing left in the global scope."""
    parts = [files("trisplit.report").joinpath(name).read_text("utf-8") for name in SCRIPTS]
    return "\n(() => {\n'use strict';\n" + "\n".join(parts) + "})();\n"


@cache
def own_style() -> str:
    """Return the style sheet."""
    return "\n" + files("trisplit.report").joinpath("page.css").read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

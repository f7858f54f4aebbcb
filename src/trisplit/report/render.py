"""Blocks as HTML. All text is escaped: a name from a user's file must not become markup, let alone a script."""

import base64
import json
import re
from collections.abc import Callable, Sequence
from html import escape
from itertools import groupby
from math import isfinite

from trisplit.report.blocks import Block, Cell, Frames, Image, Section, Table, Text, Verdict
from trisplit.report.charts import Chart

MARKUP = re.compile(r"(`[^`\n]+`|https?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]])")
SIGNS = {"holds": "✓", "holds with this initial point": "◐", "does not hold": "✗", "not decided": "?"}
Links = dict[str, str]  # the titles of the charts, by their id


def section_html(section: Section, anchor: str, links: Links, new_id: Callable[[str], str]) -> str:
    """Return a section; verdicts that follow one another share a list."""
    parts = [f'<section id="{anchor}" aria-labelledby="{anchor}-title">', f'<h2 id="{anchor}-title">']
    parts[-1] += f"{escape(section.title)}</h2>"
    for kind, run in groupby(section.blocks, key=type):
        if kind is Verdict:
            rows = "\n".join(_verdict(one, links) for one in run if isinstance(one, Verdict))
            parts.append(f'<ul class="verdicts">\n{rows}\n</ul>')
        else:
            parts += [_block(one, new_id) for one in run]
    return "\n".join([*parts, "</section>"])


def prose(text: str) -> str:
    """Return text as HTML, with code and addresses marked.

    >>> prose("`a < b`, see https://example.org.")
    '<code>a &lt; b</code>, see <a href="https://example.org" rel="noreferrer">https://example.org</a>.'
    """
    parts = []
    for place, part in enumerate(MARKUP.split(text)):
        safe = escape(part)
        if place % 2 and part[0] == "`":
            safe = f"<code>{escape(part[1:-1])}</code>"
        elif place % 2:
            safe = f'<a href="{safe}" rel="noreferrer">{safe}</a>'
        parts.append(safe)
    return "".join(parts)


def paragraphs(text: str) -> str:
    """Return a paragraph for each part between empty lines."""
    return "\n".join(f"<p>{prose(part.strip())}</p>" for part in re.split(r"\n\s*\n", text) if part.strip())


def data(record: dict[str, object]) -> str:
    r"""Return a record for the scripts; no text in it can end the element that it stands in.

    >>> data({"name": "</script>"})
    '<script type="application/json">{"name":"\\u003c/script\\u003e"}</script>'
    """
    text = json.dumps(record, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json">{text}</script>'


def _block(block: Block, new_id: Callable[[str], str]) -> str:
    match block:
        case Text():
            return f'<div class="text">\n{paragraphs(block.text)}\n</div>'
        case Chart():
            return _figure("chart", block.id, block.title, block.note, data(block.payload()))
        case Frames():
            return _figure("frames", new_id(block.title), block.title, block.note, data(_payload(block)))
        case Table():
            return _table(block, new_id(block.title))
        case Image():
            media_type, content = block.content()
            address = f"data:{media_type};base64,{base64.b64encode(content).decode()}"
            return f'<figure class="image"><img src="{address}" alt="{escape(block.alt)}">{_note(block.note)}</figure>'
        case _:
            raise TypeError(f"a section holds blocks, got {type(block).__name__}")


def _figure(kind: str, anchor: str, title: str, note: str, content: str) -> str:
    return (
        f'<figure class="{kind}" id="{anchor}" aria-labelledby="{anchor}-title">\n'
        f'<h3 id="{anchor}-title">{escape(title)}</h3>\n<div class="live"></div>\n{_note(note)}\n{content}\n</figure>'
    )


def _note(note: str) -> str:
    return f"<figcaption>{paragraphs(note)}</figcaption>" if note else ""


def _payload(frames: Frames) -> dict[str, object]:
    rows, columns = frames.shape
    values = base64.b64encode(frames.values.tobytes()).decode()
    return {"title": frames.title, "rows": rows, "columns": columns, "captions": frames.captions, "values": values}


def _table(table: Table, anchor: str) -> str:
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in table.columns)
    body = "\n".join(f"<tr>{_row(row, table.numeric)}</tr>" for row in table.rows)
    return (
        f'<div class="table" id="{anchor}">\n<h3 id="{anchor}-title">{escape(table.title)}</h3>\n'
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{anchor}-title">\n'
        f'<table{" class=numeric" if table.numeric else ""} aria-labelledby="{anchor}-title">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n"
        f"{paragraphs(table.note)}\n</div>"
    )


def _row(row: Sequence[Cell], numeric: bool) -> str:
    cells = [escape(cell_text(cell)) if numeric else prose(cell_text(cell)) for cell in row]
    first = [f'<th scope="row">{cell}</th>' for cell in cells[:1]]
    return "".join(first + [f"<td>{cell}</td>" for cell in cells[1:]])


def cell_text(cell: Cell) -> str:
    """Return what stands in a cell.

    >>> cell_text(1234567), cell_text(0.000123456), cell_text(float("nan")), cell_text("nug12")
    ('1,234,567', '0.0001235', '–', 'nug12')
    """
    if isinstance(cell, str | bool):
        return str(cell)
    if cell is None or not isfinite(cell):
        return "–"
    return f"{int(cell):,}" if float(cell).is_integer() and abs(cell) < 1e15 else f"{cell:.4g}"


def _verdict(verdict: Verdict, links: Links) -> str:
    figure = escape(verdict.figure)
    if verdict.figure in links:
        figure = f'<a href="#{figure}">{escape(links[verdict.figure])}</a>'
    words = escape(verdict.verdict)
    return (
        f'<li class="verdict {words.replace(" ", "-")}"><p class="badge"><span aria-hidden="true">'
        f'{SIGNS[verdict.verdict]}</span> {words}</p>\n<div><p class="claim">{prose(verdict.claim)}</p>'
        + (f'<p class="figure">{figure}</p>' if figure else "")
        + (f'<p class="detail">{prose(verdict.detail)}</p>' if verdict.detail else "")
        + "</div></li>"
    )

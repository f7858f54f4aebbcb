"""Reports that a browser shows: one HTML file with charts, tables and verdicts, which loads nothing from anywhere.

A page is a list of sections and a section is a list of blocks; `write_page` makes a file of them. The charts are drawn
by the small scripts that lie here, so a report opens from disk, in ten years as today, and can be read with a mouse,
with a keyboard or with a screen reader.
"""

from trisplit.report.blocks import Block, Frames, Image, Section, Table, Text, Verdict
from trisplit.report.charts import COLOURS, Chart, Series
from trisplit.report.page import page, write_page

__all__ = [
    "COLOURS",
    "Block",
    "Chart",
    "Frames",
    "Image",
    "Section",
    "Series",
    "Table",
    "Text",
    "Verdict",
    "page",
    "write_page",
]

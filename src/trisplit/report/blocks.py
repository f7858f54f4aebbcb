"""What a page is made of, apart from charts: text, tables, verdicts, images, and matrices that change."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trisplit.errors import InputError
from trisplit.report.charts import Chart

Cell = str | int | float | None
VERDICTS = ("holds", "holds with this initial point", "does not hold", "not decided")
# How the first bytes of a picture give its format away.
MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"<svg", "image/svg+xml"),
    (b"<?xml", "image/svg+xml"),
)


@dataclass(frozen=True)
class Text:
    """Paragraphs, with an empty line between two; `code` may stand in backticks, and addresses become links."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table; it is there without JavaScript too.

    Parameters
    ----------
    title : str
    columns : sequence of str
    rows : sequence of sequences
        Text stays as it is; whole numbers get separators, other numbers four digits; None and NaN become a dash.
    numeric : bool
        The first column names the row and the others hold numbers, set to the right.
    note : str
        What is said below the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numeric: bool = True
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "rows", tuple(map(tuple, self.rows)))
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InputError(
                    f"`rows` of the table {self.title!r} has a row of {len(row)} cells for {len(self.columns)} columns"
                )


@dataclass(frozen=True)
class Verdict:
    """What became of one claim.

    Parameters
    ----------
    claim : str
        What was claimed.
    verdict : str
        "holds", "holds with this initial point", "does not hold" or "not decided".
    figure : str
        Where it was claimed, such as "Figure 3"; the `id` of a chart on the page becomes a link to it.
    detail : str
        What was measured.
    """

    claim: str
    verdict: str
    figure: str = ""
    detail: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"`verdict` must be one of {', '.join(map(repr, VERDICTS))}, got {self.verdict!r}")


@dataclass(frozen=True, eq=False)
class Frames:
    """A matrix that changes, as a picture with a slider.

    Parameters
    ----------
    title : str
    shape : pair of int
        Rows and columns of the matrix.
    values : ndarray of uint8, shape (frames, rows, columns)
        Each entry as a share of 255; the page holds them all, a third more than their bytes.
    captions : sequence of str
        What is said beside each frame.
    note : str
        What is said below.

    Examples
    --------
    >>> x = np.stack([np.full((3, 3), 85), 255 * np.eye(3)]).astype(np.uint8)
    >>> Frames("X", (3, 3), x, ["iteration 0", "iteration 9"]).captions
    ('iteration 0', 'iteration 9')
    """

    title: str
    shape: tuple[int, int]
    values: np.ndarray
    captions: Sequence[str]
    note: str = ""

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        object.__setattr__(self, "captions", tuple(self.captions))
        if values.dtype != np.uint8:
            raise InputError(f"`values` must be uint8, got {values.dtype}; try `np.rint(255 * x).astype(np.uint8)`")
        expected = (len(self.captions), *self.shape)
        if values.shape != expected or values.size == 0:
            raise InputError(
                f"`values` must have the shape {expected}, a matrix for each of the captions, and not be empty, "
                f"got {values.shape}"
            )
        object.__setattr__(self, "values", values)


@dataclass(frozen=True)
class Image:
    """A picture, which becomes a part of the page.

    Parameters
    ----------
    source : Path, str or bytes
        A file, or what is in it: PNG, JPEG, GIF, WebP or SVG.
    alt : str
        What is to be seen, for those who cannot see it.
    note : str
        What is said below.
    """

    source: Path | str | bytes
    alt: str
    note: str = ""

    def content(self) -> tuple[str, bytes]:
        """Return the media type and the bytes."""
        found = self.source if isinstance(self.source, bytes) else Path(self.source).read_bytes()
        if found[:4] == b"RIFF" and found[8:12] == b"WEBP":
            return "image/webp", found
        for start, media_type in MAGIC:
            if found.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(start) or found.startswith(start):
                return media_type, found
        name = "its bytes" if isinstance(self.source, bytes) else repr(str(self.source))
        raise InputError(f"`source` must be a PNG, JPEG, GIF, WebP or SVG picture, got {name} of another format")


Block = Text | Chart | Table | Frames | Verdict | Image


@dataclass(frozen=True)
class Section:
    """A title and what stands below it; the contents of the page link to it."""

    title: str
    blocks: Sequence[Block]

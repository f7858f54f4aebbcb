"""The gradient of a loss whose samples lie in a file that is mapped into memory, next to reading the file.

The file is made of random numbers and removed afterwards. It is read and taken the gradient of twice each, first with
nothing of it in the system's cache. Anonymous memory is what the process holds besides pages of files.
"""

import os
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import trisplit as ts
from trisplit.paper.style import COLOURS, STYLE

from .report import Table
from .timing import Report, settled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEATURES = 200
GIB, QUICK_GIB = 12.0, 0.02
CHUNK = 2**25
MEMORY, SPEED = 1.0, 0.5  # what is aimed at: GiB of anonymous memory at most, and of the speed of reading at least


def run(record: dict[str, Any], quick: bool, report: Report) -> None:
    """Fill `record` with seconds of reading and of gradients, and with the memory that was held."""
    n = int((QUICK_GIB if quick else GIB) * 2**30 / (8 * FEATURES))
    with settled(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.npy"
        report("writing the file", 0.0)
        write(path, n)
        record["settings"] = {"threads": 1, "samples": n, "features": FEATURES, "bytes": path.stat().st_size}
        before = anonymous()
        f = ts.losses.Logistic(np.load(path, mmap_mode="r"), np.where(np.arange(n) % 2, 1.0, -1.0))
        x, record["rows"] = np.linspace(-1.0, 1.0, FEATURES) / FEATURES, []
        for k, (what, once) in enumerate({"reading": lambda: read(path), "gradient": lambda: f.grad(x)}.items()):
            forget(path)
            for cached in (False, True):
                report(f"{what}, {'from' if cached else 'without'} the cache", 0.3 + 0.35 * k)
                begin = perf_counter()
                once()
                record["rows"].append({"what": what, "cached": cached, "seconds": perf_counter() - begin})
        record["anonymous_gib"] = anonymous()
        record["anonymous_gib_before"] = before


def write(path: Path, n: int) -> None:
    """Write n samples, block by block."""
    table = np.lib.format.open_memmap(path, mode="w+", dtype=float, shape=(n, FEATURES))
    block = np.random.default_rng(0).standard_normal((20_000, FEATURES))
    for k, start in enumerate(range(0, n, len(block))):
        table[start : start + len(block)] = (1.0 + 1e-3 * k) * block[: n - start]
    table.flush()


def read(path: Path) -> None:
    """Read the file into one buffer, again and again."""
    buffer = bytearray(CHUNK)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def forget(path: Path) -> None:
    """Ask the system to drop what it keeps of the file."""
    os.sync()
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def anonymous() -> float:
    """Return the anonymous memory of this process in GiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 2**20


def speeds(record: dict[str, Any]) -> dict[tuple[str, bool], float]:
    """Return GiB a second."""
    gib = record["settings"]["bytes"] / 2**30
    return {(row["what"], row["cached"]): gib / row["seconds"] for row in record["rows"]}


def tables(record: dict[str, Any]) -> list[Table]:
    """Return the speeds and the memory."""
    found, gib = speeds(record), record["settings"]["bytes"] / 2**30
    title = f"a mapped file of {gib:.2f} GiB, in GiB a second; the goal: >= {SPEED:g} of the speed of reading"
    table = Table(title, ["the file", "reading", "gradient", "gradient / reading"])
    for cached, name in ((False, "on disk"), (True, "in the system's cache")):
        reading, gradient = found["reading", cached], found["gradient", cached]
        table.rows.append([name, f"{reading:.2f}", f"{gradient:.2f}", f"{gradient / reading:.2f}"])
    memory = Table(f"anonymous memory in GiB; the goal: < {MEMORY:g}", ["before", "afterwards"])
    memory.rows.append([f"{record['anonymous_gib_before']:.2f}", f"{record['anonymous_gib']:.2f}"])
    return [table, memory]


def figure(record: dict[str, Any]) -> "Figure":
    """Draw the speeds as bars."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    found = speeds(record)
    with mpl.rc_context(STYLE | {"axes.grid.axis": "x"}):
        drawing = Figure(figsize=(6.4, 2.4), layout="constrained")
        axes = drawing.add_subplot()
        for k, what in enumerate(("reading", "gradient")):
            places = [cached + 0.36 * (k - 0.5) for cached in (False, True)]
            axes.barh(places, [found[what, cached] for cached in (False, True)], 0.34, color=COLOURS[1 - k], label=what)
        axes.set_yticks([0, 1], ["on disk", "in the system's cache"])
        axes.invert_yaxis()
        axes.set_xlabel("GiB a second")
        axes.legend()
    return drawing

"""Build the bundled QAPLIB file from a folder of plain-text instances.

    python tools/build_qaplib.py FOLDER src/trisplit/qap/data/qaplib.npz

FOLDER holds `NAME.dat` for every instance, `NAME.sln` for some, and `best_known.csv` with the columns name,
n, best_known, proven_optimal, lower_bound and in_paper. Every permutation is checked by its exact cost, and
nothing is written if one contradicts a best-known value. The same folder gives the same bytes.
"""

import argparse
import csv
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from pathlib import Path

import numpy as np

from trisplit.errors import InputError
from trisplit.qap.instance import Instance, as_permutation
from trisplit.qap.qaplib import Entry, read


class BuildError(Exception):
    """The folder contradicts itself: nothing may be built from it."""


def natural(name: str) -> list[str | int]:
    """Sort key that compares numbers by value: nug5, nug12, nug30."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def read_table(path: Path) -> list[Entry]:
    """Read best_known.csv, sorted by name, and check what can be checked without the matrices."""
    answers = {"yes": True, "no": False}
    entries = []
    with path.open(newline="", encoding="ascii") as file:
        for row in csv.DictReader(file):
            proven, in_paper = answers[row["proven_optimal"]], answers[row["in_paper"]]
            best, bound = int(row["best_known"]), int(row["lower_bound"])
            # No test of the kind "if best": the optimum of esc16f is 0.
            if bound > best or proven != (bound == best):
                raise BuildError(f"{row['name']}: lower bound {bound}, best known {best}, proven {proven}")
            entries.append(Entry(row["name"], int(row["n"]), best, proven, bound, in_paper))
    if len({entry.name for entry in entries}) < len(entries):
        raise BuildError(f"{path.name} names an instance twice")
    return sorted(entries, key=lambda entry: natural(entry.name))


def read_solution(path: Path, n: int) -> np.ndarray:
    """Return the permutation of a `.sln` file, counted from 0.

    The file holds n, a cost and n numbers, over any number of lines, with commas in some editions. The cost
    is not used: kra32.sln says 88900 but its permutation costs 88700.
    """
    tokens = [int(token) for token in path.read_text(encoding="ascii").replace(",", " ").split()]
    if len(tokens) != n + 2 or tokens[0] != n:
        raise InputError(f"{path.name} must hold n = {n}, a cost and {n} numbers, found {len(tokens)} numbers")
    images = np.array(tokens[2:])
    # Most files count from 1, tai40a.sln counts from 0.
    return as_permutation(images if 0 in images else images - 1, n, name=path.name)


def confirm(instance: Instance, best: int, path: Path) -> tuple[np.ndarray | None, str]:
    """Return the permutation of `path` that costs exactly `best`, or None and the reason.

    The permutation of esc128, kra30a, kra30b, ste36c, tai60a, tai80a, tho30 and tho150 fits with A and B
    exchanged. As sum_ij B[i,j] A[p[i],p[j]] = sum_ij A[i,j] B[q[i],q[j]] with q the inverse of p, trying p
    and q covers both an exchange and an inverse.
    """
    # esc32a-d, esc32h, esc64a, tai10a and tai10b come without a file.
    if not path.is_file():
        return None, f"no {path.name}"
    try:
        p = read_solution(path, instance.n)
    except ValueError as error:
        return None, str(error)
    candidates = (p, np.argsort(p))
    costs = [instance.cost(candidate) for candidate in candidates]
    if min(costs) < best:
        raise BuildError(f"{instance.name}: best known {best}, but {path.name} costs {min(costs)}")
    if best in costs:
        return candidates[costs.index(best)], ""
    # tai100a.sln is older than the best-known value, and dearer: better no permutation than a wrong claim.
    return None, f"{path.name} costs {min(costs)}, best known {best}"


def as_table(entries: Sequence[Entry]) -> np.ndarray:
    """Return the entries as a structured array, with room for the longest name: NumPy cuts without a word."""
    longest = max(len(entry.name) for entry in entries)
    kinds = [f"<U{longest}", "<i8", "<i8", "?", "<i8", "?"]
    columns = [field.name for field in fields(Entry)]
    return np.array([astuple(entry) for entry in entries], dtype=list(zip(columns, kinds, strict=True)))


def narrow(M: np.ndarray) -> np.ndarray:
    """Return M in the smallest integer type that holds it, little-endian on every machine."""
    if M.dtype.kind == "f":
        return M.astype("<f8")
    for kind in ("<u1", "<i1", "<u2", "<i2", "<u4", "<i4"):
        if np.iinfo(kind).min <= M.min() and M.max() <= np.iinfo(kind).max:
            return M.astype(kind)
    return M.astype("<i8")


def pack(members: Iterable[tuple[str, np.ndarray]]) -> bytes:
    """Return the bytes of an .npz file. np.savez would put the time of day into it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in members:
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # otherwise it depends on the operating system
            info.external_attr = 0o644 << 16
            archive.writestr(info, content.getvalue(), compresslevel=9)
    return buffer.getvalue()


def build(folder: Path) -> tuple[bytes, list[str]]:
    """Return the bundle and one line for each instance without a confirmed solution."""
    entries = read_table(folder / "best_known.csv")
    files = {path.stem for path in folder.glob("*.dat")} | {path.stem for path in folder.glob("*.sln")}
    if stray := files - {entry.name for entry in entries}:
        raise BuildError(f"not in best_known.csv: {', '.join(sorted(stray))}")
    members = [("table", as_table(entries))]
    unconfirmed = []
    for entry in entries:
        instance = read(folder / f"{entry.name}.dat")
        if instance.n != entry.n:
            raise BuildError(f"{entry.name}: n is {instance.n} in the file, {entry.n} in best_known.csv")
        solution, reason = confirm(instance, entry.best_known, folder / f"{entry.name}.sln")
        members += [(f"{entry.name}/A", narrow(instance.A)), (f"{entry.name}/B", narrow(instance.B))]
        if solution is None:
            unconfirmed.append(f"{entry.name}: no confirmed solution ({reason})")
        else:
            members.append((f"{entry.name}/solution", narrow(solution)))
    return pack(members), unconfirmed


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder with *.dat, *.sln and best_known.csv")
    parser.add_argument("out", type=Path, help="the .npz file to write")
    options = parser.parse_args(argv)
    try:
        bundle, unconfirmed = build(options.folder)
    except (BuildError, InputError, OSError) as error:
        raise SystemExit(f"build_qaplib: {error}") from error
    options.out.write_bytes(bundle)
    print("\n".join([*unconfirmed, f"{options.out}: {len(bundle)} bytes"]))


if __name__ == "__main__":
    main()

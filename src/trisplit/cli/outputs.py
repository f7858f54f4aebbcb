"""Files that commands write results to."""

import os
import re
import sys
from pathlib import Path

from trisplit.errors import InputError
from trisplit.files import write_whole

STREAMS = ("--json", "--csv")  # what may go to a device
_DESCRIPTOR = re.compile(r"(?:/dev/fd|/proc/self/fd)/(\d{1,9})")


def check_paths(paths: dict[str, Path]) -> None:
    """Raise an `InputError` if one of the files cannot be written, or two are the same."""
    taken: dict[Path, str] = {}
    for option, path in paths.items():
        check_writable(path, option)
        other = taken.setdefault(path.absolute(), option)
        if other != option:
            raise InputError(f"{other} and {option} are the same file, {path}; choose another path for one of them")


def check_writable(path: Path, option: str) -> None:
    """Raise an `InputError` if `path` cannot become a file: better now than after the search."""
    folder = path.absolute().parent
    number = descriptor(path)
    if number is not None and not _is_open(number):
        raise InputError(f"{option} {path} is not open for writing; choose another path")
    if is_device(path) and option in STREAMS:
        return
    if path.is_dir():
        problem = "is a folder"
    elif is_device(path):
        problem = "is no file"
    elif not folder.is_dir():
        problem = "lies in a folder that does not exist"
    elif not os.access(folder, os.W_OK):
        problem = "lies in a folder that is not writable"
    else:
        return
    raise InputError(f"{option} {path} {problem}; choose another path")


def write_text(path: Path, text: str) -> None:
    """Write a file in one step; a stream, a device or a pipe, such as /dev/stdout, is written to, a link followed."""
    number = descriptor(path)
    if number is not None:
        _write_stream(number, text)
        return
    if is_device(path):
        path.write_text(text, encoding="utf-8")
        return
    write_whole(Path(os.path.realpath(path)), text)


def is_device(path: Path) -> bool:
    """Whether something is there that is neither a file nor a folder, or it is a stream that may lead to a file."""
    return descriptor(path) is not None or (path.exists() and not path.is_file() and not path.is_dir())


def descriptor(path: Path) -> int | None:
    """Return the number of the stream of this process that `path` names, None if it is another path.

    >>> descriptor(Path("/dev/stdout")), descriptor(Path("/dev/fd/63")), descriptor(Path("out.json"))
    (1, 63, None)
    """
    name = os.path.abspath(path)
    if name in ("/dev/stdout", "/dev/stderr"):
        return 1 if name == "/dev/stdout" else 2
    found = _DESCRIPTOR.fullmatch(name)
    return None if found is None else int(found[1])


def _is_open(number: int) -> bool:
    try:
        os.write(number, b"")
    except OSError:
        return False
    return True


def _write_stream(number: int, text: str) -> None:
    """Write behind what the stream has; opening its path again would empty a file that it leads to."""
    held = {1: sys.stdout, 2: sys.stderr}.get(number)
    if held is not None:  # what was printed before comes first
        held.flush()
    with open(number, "w", encoding="utf-8", closefd=False) as file:
        file.write(text)

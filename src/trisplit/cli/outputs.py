"""Files that commands write results to."""

import os
from pathlib import Path

from trisplit.errors import InputError
from trisplit.files import write_whole

STREAMS = ("--json", "--csv")  # what may go to a device


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
    """Write a file in one step; a device or a pipe, such as /dev/stdout, is written to, and a link is followed."""
    if is_device(path):
        path.write_text(text, encoding="utf-8")
        return
    write_whole(Path(os.path.realpath(path)), text)


def is_device(path: Path) -> bool:
    """Whether something is there that is neither a file nor a folder."""
    return path.exists() and not path.is_file() and not path.is_dir()

"""Folders that commands write results to."""

from pathlib import Path
from tempfile import TemporaryFile

from trisplit.errors import InputError


def make_folder(folder: Path) -> None:
    """Create the folder for the results: better now than after the measuring."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"--out {folder} cannot be a folder ({error.strerror}); choose another path") from error


def unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(f"--out {folder} cannot be written to ({error.strerror}); choose another path")

"""Writing text files in one step: a kill or a full disk leaves the file before."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace the file at `path`; the new one takes the name only when it is complete."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

"""How much memory is left, so that what cannot fit is refused before it is taken."""

import os
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")  # where a container's limit is below the machine's
_VERSIONS = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_bytes() -> int:
    """Return the bytes that can still be allocated, by what the system says; 2^63 - 1 where it says nothing.

    Examples
    --------
    >>> available_bytes() > 0
    True
    """
    return max(min(_of_machine(), _of_group()), 0)


def in_words(size: int) -> str:
    """Return a number of bytes with its unit.

    Examples
    --------
    >>> in_words(80_000_000_000)
    '74.5 GiB'
    """
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size >= 1024**power:
            return f"{size / 1024**power:.1f} {unit}"
    return f"{size} bytes"


def _of_machine() -> int:
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return 2**63 - 1


def _of_group() -> int:
    for folder, limit, used, pages in _VERSIONS:
        try:
            stat = (_GROUP / folder / "memory.stat").read_text(encoding="ascii").splitlines()
            left = int((_GROUP / folder / limit).read_text()) - int((_GROUP / folder / used).read_text())
            return left + int(dict(line.split() for line in stat).get(pages, 0))  # pages of files give way
        except (OSError, ValueError):  # no group of this version, or the limit "max"
            continue
    return 2**63 - 1

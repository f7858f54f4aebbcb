"""The machine, in words that name no host and no folder."""

import os
import platform
from functools import cache
from importlib import import_module


@cache
def machine(device: str = "cpu") -> str:
    """Return the processor, or the GPU, with its number of cores and the system."""
    text = f"{cpu_model()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    if device != "cpu":
        torch = import_module("torch")

        text = f"{torch.cuda.get_device_name(device)} next to {text}"
    return text


def cpu_model() -> str:
    """Return the name of the processor, where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return " ".join(line.partition(":")[2].split())
    except OSError:
        pass
    return platform.processor() or platform.machine()


def memory_gib() -> float | None:
    """Return the memory of the machine, where the system tells it."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None

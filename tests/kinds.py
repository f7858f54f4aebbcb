"""Kinds of arrays, a library and a dtype each, for tests that state the same fact for all of them."""

import importlib
import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from hypothesis import Phase, given, settings

from trisplit.arrays import library, to_numpy

DTYPES = ("float32", "float64")
TORCH_DEVICE = os.environ.get("TRISPLIT_DEVICE", "cpu")  # such as "cuda"
MODULES = {
    "numpy": "numpy",
    "torch": "torch",
    "jax": "jax.numpy",
    "array_api_strict": "array_api_strict",
    "cupy": "array_api_compat.cupy",
}
# The share of the examples that hypothesis draws for NumPy: a call of JAX takes a hundred times as long.
SHARES = {"numpy": 1.0, "torch": 0.2, "jax": 0.05, "array_api_strict": 0.2, "cupy": 0.1}


@dataclass(frozen=True)
class Kind:
    """A library and a dtype: makes such arrays from numbers, and tells whether an array is one."""

    library: str
    precision: str

    def __str__(self):
        return f"{self.library}-{self.precision}"

    @cached_property
    def xp(self):
        """The library, imported when it is first needed."""
        # JAX gets two devices out of one processor, and the arrays live on the second: a default would be found out.
        os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
        try:
            module = importlib.import_module(MODULES[self.library])
        except ImportError:
            if os.environ.get("TRISPLIT_BACKENDS"):
                raise
            pytest.skip(f"{self.library} is not installed; `python3 run.py backends` installs it")
        if self.library == "jax":
            importlib.import_module("jax").config.update("jax_enable_x64", True)
        return module

    @property
    def dtype(self):
        made = getattr(self.xp, self.precision)
        return made if self.library in ("torch", "array_api_strict") else np.dtype(made)

    @property
    def eps(self):
        return float(np.finfo(self.precision).eps)

    @cached_property
    def device(self):
        """Where the arrays live: not the default device, where the library has another on every machine."""
        if self.library == "jax":
            return importlib.import_module("jax").devices()[-1]
        if self.library == "cupy":
            return importlib.import_module("cupy").cuda.Device()
        if self.library == "array_api_strict":
            return self.xp.Device("device1")
        return TORCH_DEVICE if self.library == "torch" else "cpu"

    def array(self, values):
        """Return the numbers as an array of this kind, a copy."""
        plain = np.array(values, dtype=self.precision, order="K")
        return self.xp.asarray(plain, dtype=self.dtype, device=self.device)

    def holds(self, x):
        """Say whether `x` is an array of this kind, on its device."""
        here = x.device if self.library != "torch" else x.device.type
        return (library(x), x.dtype, here) == (self.library, self.dtype, self.device)

    def fact(self, max_examples, strategies):
        """Return a decorator: hypothesis draws arguments, for slow libraries a few times only."""
        examples = max(round(max_examples * SHARES[self.library]), 1)
        # Draws are seeds: there is nothing to shrink, and with a slow library trying would take minutes.
        chosen = settings(max_examples=examples, deadline=None, derandomize=True, phases=[Phase.generate])
        return lambda test: chosen(given(**strategies)(test))


def kinds(*libraries):
    return [Kind(name, precision) for name in libraries for precision in DTYPES]


def numpy64(x):
    """Return the numbers of an array of any kind, in double precision."""
    return np.asarray(to_numpy(x), dtype=float)

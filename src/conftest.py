"""Leave out the examples of docstrings that need PyTorch or Triton where these are missing."""

from importlib.util import find_spec

import pytest

GPU = ["trisplit/kernels/gpu/[a-z]*.py", "trisplit/qap/gpu/[a-z]*.py"]
KERNELS = [f"trisplit/kernels/gpu/{name}.py" for name in ("auction", "splitting", "tabu")]
collect_ignore_glob = [] if find_spec("torch") else ["trisplit/torch/[a-z]*.py", *GPU]
if find_spec("triton") is None:
    collect_ignore_glob += KERNELS


@pytest.fixture(autouse=True)
def plain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples for a GPU use the plain twins of its kernels: where Triton interprets, those take minutes."""
    if request.node.path.parent.name == "gpu" and find_spec("torch") is not None:
        for module in ("trisplit.qap.gpu.batch", "trisplit.qap.gpu.rounding", "trisplit.kernels.gpu.walks"):
            monkeypatch.setattr(f"{module}.usable", lambda device: False)

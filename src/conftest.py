"""Leave out the examples of docstrings that need PyTorch or Triton where these are missing."""

from importlib.util import find_spec

GPU = ["trisplit/kernels/gpu/[a-z]*.py", "trisplit/qap/gpu/[a-z]*.py"]
KERNELS = [f"trisplit/kernels/gpu/{name}.py" for name in ("auction", "splitting", "tabu")]
collect_ignore_glob = [] if find_spec("torch") else ["trisplit/torch/[a-z]*.py", *GPU]
if find_spec("triton") is None:
    collect_ignore_glob += KERNELS

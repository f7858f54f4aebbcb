"""Leave out the examples of docstrings that need PyTorch where it is missing."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["trisplit/torch/[a-z]*.py", "trisplit/qap/gpu/[a-z]*.py"]

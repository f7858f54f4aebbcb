"""Benchmarks: trisplit side by side with other libraries, in one run on one machine.

`trisplit bench NAME` runs one of them; the wheel carries them as `trisplit.benchmarks`. A benchmark is a file here with
`run(record, quick, report)`, `tables(record)` and `figure(record)`, and a line in `registry`.
"""

registry: dict[str, str] = {
    "core": "iterations, gradients and seconds to a given suboptimality on three problems, against four libraries",
    "overhead": "seconds per iteration, against a bare NumPy loop and copt; a batch of problems against a loop",
}

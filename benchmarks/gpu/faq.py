"""SciPy's FAQ from random points until time is up: a script, so that each core has a process of its own.

    python faq.py FILE SEED SECONDS

FILE holds A and B in NumPy's format. It says "ready", waits for a line, and prints the number of starts, the seconds
and the costs as JSON. A start that has begun counts, with its time. It imports nothing of trisplit.
"""

import json
import sys
from time import perf_counter

import numpy as np
from scipy.optimize import quadratic_assignment


def main(path: str, seed: str, limit: str) -> None:
    """Restart FAQ, with the options that it has by default."""
    with np.load(path) as file:
        exact_A, exact_B = file["A"], file["B"]
    A, B = exact_A.astype(float), exact_B.astype(float)  # else it converts integers in every product
    options = {"P0": "randomized", "rng": np.random.default_rng(int(seed))}
    quadratic_assignment(A, B, method="faq", options=options)
    print("ready", flush=True)
    sys.stdin.readline()
    costs, begin = [], perf_counter()
    while perf_counter() - begin < float(limit):
        p = quadratic_assignment(A, B, method="faq", options=options).col_ind
        costs.append(int((exact_A * exact_B[np.ix_(p, p)]).sum()))
    print(json.dumps({"starts": len(costs), "seconds": perf_counter() - begin, "costs": costs}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""`trisplit solve NAME --time-limit 1` on every bundled instance: ends in time, with a cost that integers confirm."""

import json
import time

import pytest

from tests.cli.printed import printed
from trisplit import qap
from trisplit.cli import run
from trisplit.qap.portfolio import FACES

pytestmark = pytest.mark.slow
LIMIT, MARGIN = 1.0, 0.2  # seconds


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Load or compile everything, which is no part of the limit: enough rounds for faces, and no value to stop at."""
    nug12 = qap.load("nug12")
    qap.solve(qap.Instance("unknown", nug12.A, nug12.B), starts=FACES + 2, rng=0)
    run(["solve", "nug12", "--time-limit", "0.1"])


def exact_cost(instance, p):
    """Return sum_ij A[i,j] B[p[i],p[j]] in Python integers."""
    A, B = instance.A.tolist(), instance.B.tolist()
    return sum(a * B[p[i]][p[j]] for i, row in enumerate(A) for j, a in enumerate(row))


@pytest.mark.parametrize("name", qap.names())
def test_solve_within_a_second(name, tmp_path, capsys):
    path, instance = tmp_path / "out.json", qap.load(name)
    begin = time.perf_counter()
    assert run(["solve", name, "--time-limit", str(LIMIT), "--json", str(path)]) == 0
    seconds = time.perf_counter() - begin
    out, err = capsys.readouterr()
    rows, record = printed(out), json.loads(path.read_text())
    assert err == ""
    assert sorted(record["permutation"]) == list(range(instance.n))
    assert record["permutation"] == rows["permutation"]
    assert record["cost"] == exact_cost(instance, record["permutation"])
    assert rows["cost"] == f"{record['cost']:,}"
    assert record["status"] in ("OPTIMAL", "TIME_LIMIT")
    if instance.best_known is not None and instance.proven:
        assert record["cost"] >= instance.best_known
        assert (record["status"] == "OPTIMAL") == (record["cost"] == instance.best_known)
    assert record["seconds"] <= seconds <= LIMIT + MARGIN  # with reading and printing

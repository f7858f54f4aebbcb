"""A real Dask cluster runs the starts; it may lose a worker, or all of them, on the way."""

import logging
import os
import signal

import distributed
import pytest

from tests.qap.same_answer import NUG20, same
from trisplit.qap import QAPStatus, solve

# What Dask and tornado warn of when a worker dies is not ours.
pytestmark = pytest.mark.filterwarnings("ignore")

STARTS = 12


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def alone():
    return solve(NUG20, starts=STARTS, rng=5, workers=1)


def test_two_workers_give_the_answer_of_one(client, alone):
    assert len(set(client.run(os.getpid).values()) - {os.getpid()}) == 2  # processes of their own
    assert same(solve(NUG20, starts=STARTS, rng=5, workers=client.get_executor()), alone)


@pytest.mark.parametrize("victims", [1, 2])
def test_killed_workers_do_not_change_the_answer(client, alone, victims):
    client.wait_for_workers(2, timeout=60)
    pids = list(client.run(os.getpid).values())[:victims]

    def kill(row):
        if row.number == STARTS // 2 - 2:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

    assert same(solve(NUG20, starts=STARTS, rng=5, workers=client.get_executor(), callback=kill), alone)


def test_time_limit_on_a_cluster(client):
    client.wait_for_workers(2, timeout=60)
    for _ in range(3):  # on a busy machine no start may come back within a second
        res = solve(NUG20, time_limit=1.0, rng=5, workers=client.get_executor())
        assert res.status is QAPStatus.TIME_LIMIT
        assert 1.0 <= res.elapsed < 1.0 + 0.2
        assert res.cost == NUG20.cost(res.permutation)
        if res.relaxation is not None:
            break
    assert res.relaxation.certificate.kind == "gap"


def test_a_cluster_that_is_closed_leaves_the_work_to_us(alone):
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=logging.CRITICAL
    ) as cluster:
        client = distributed.Client(cluster)
        executor = client.get_executor()
        client.close()
        assert same(solve(NUG20, starts=STARTS, rng=5, workers=executor), alone)

"""What a file of a run holds, which files are refused, and how a batch goes on after Ctrl-C anywhere."""

import hashlib
import json
from collections import OrderedDict
from contextlib import suppress
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pytest

import trisplit as ts
from tests.batches.problems import Selectable, batch_of
from trisplit.run import run as run_module
from trisplit.run.checkpoint import FORMAT, VERSION, read, write
from trisplit.run.tree import packed, unpacked
from trisplit.splitting.tos import Iterate, State
from trisplit.steps.records import Record, Table
from trisplit.terms import L1, Box, L2Ball

TERMS = [Box(-1, 1), L2Ball(0.9)]


def squares(x):
    return (x**2).sum(), 2 * x


def file_of_version(path, version):
    """Write a whole file of that version, whose digest is right."""
    write(path, {"states": {"last": 0}, "identity": {}}, {"last.z": np.ones(2)})
    _, digest, body = path.read_bytes().split(b"\n", 2)
    assert hashlib.sha256(body).hexdigest().encode() == digest
    path.write_bytes(b"\n".join([FORMAT + b" %d" % version, digest, body]))


@pytest.mark.parametrize("version", [1, 2, VERSION + 1])
@pytest.mark.parametrize("batch_ndim", [0, 1])
def test_a_file_of_another_version_is_refused_in_one_line_and_left_alone(tmp_path, version, batch_ndim):
    path = tmp_path / "run.ckpt"
    file_of_version(path, version)
    before = path.read_bytes()
    f, x0 = batch_of((3,), (4,))
    f, x0 = (f, x0) if batch_ndim else (f.member(0), x0[0])
    with pytest.raises(ts.InputError) as caught:
        ts.minimize(f, x0, TERMS, batch_ndim=batch_ndim, checkpoint=path)
    message = str(caught.value)
    assert f"has format version {version}, this release reads {VERSION}" in message
    assert "delete it to start anew, or choose another path" in message
    assert "\n" not in message
    assert path.read_bytes() == before


def test_version_2_is_an_old_one():
    assert VERSION > 2


@pytest.mark.parametrize("version", [b"", b"x", b"3.0", b" 3", b"\xff" * 400])
def test_a_version_that_is_no_number_is_refused_in_one_line(tmp_path, version):
    path = tmp_path / "run.ckpt"
    path.write_bytes(FORMAT + b" " + version + b"\nrest")
    with pytest.raises(ts.InputError, match=r"^[^\n]*has format version [^\n]*$"):
        ts.minimize(squares, np.ones(2), Box(-1, 1), checkpoint=path)


def test_what_is_packed_comes_back():
    table = Table.of(3, {"gamma": 1.5, "size": np.inf})
    x, u = np.arange(3.0), np.arange(3, dtype=np.float32)
    state = State(4, x, 0.1, (x, Record({"gamma": np.nan, "size": 2.0}), table), None)
    made = Iterate(t=4, z=x, x=u, y=x, u=u, gamma=np.ones((3, 1)), f_z=np.float64(0.25), after=state)
    arrays = {}
    tree = packed({"now": made, "rows": [True, None, "text", (1, 2)]}, arrays)
    assert len(arrays) == 4  # x and u come several times, and are stored once
    back = unpacked(tree, arrays, x, {"State": State, "Iterate": Iterate})
    now = back["now"]
    assert back["rows"] == (True, None, "text", (1, 2))
    assert type(now) is Iterate
    assert type(now.after) is State
    assert (now.t, now.f_z, now.after.gamma, now.after.estimate) == (4, 0.25, 0.1, None)
    assert now.z is now.y is now.after.y is now.after.memory[0]
    for name in ("z", "x", "gamma"):
        assert np.array_equal(getattr(now, name), getattr(made, name))
        assert getattr(now, name).dtype == getattr(made, name).dtype
    _, record, rows = now.after.memory
    assert record.size == 2.0
    assert np.isnan(record.gamma)
    assert rows.rows.dtype == table.rows.dtype
    assert np.array_equal(rows.rows, table.rows)


class Own(NamedTuple):
    t: int


class Level(IntEnum):
    LOW = 1


UNFIT = {
    "Own": Own(1),
    "list": [1, 2],
    "set": {1},
    "float32": np.float32(0.5),
    "int64": np.int64(1),
    "Level": Level.LOW,
    "dict": {1: 2.0},
    "OrderedDict": OrderedDict(a=1),
    "ndarray": np.array([None, 1]),
    "object": object(),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_what_would_come_back_as_something_else_is_not_packed(kind):
    x = np.ones(2)
    for state in (State(1, x, 0.5, memory=(1, (UNFIT[kind],))), State(1, x, 0.5, estimate=({"a": UNFIT[kind]},))):
        with pytest.raises(TypeError, match=f"^a {kind} would not come back as it was$"):
            packed({"now": state}, {})


class Remembering:
    """A constant step, with a memory that nobody needs."""

    judge = None

    def __init__(self, memory):
        self.memory = memory

    def start(self, problem, y):
        return 0.1, self.memory

    def propose(self, problem, memory, z, y, gamma):
        return gamma, False, memory


@pytest.mark.parametrize("kind", UNFIT)
def test_a_rule_that_remembers_what_no_file_restores_gets_a_warning_and_its_answer(tmp_path, kind):
    path, rule = tmp_path / "run.ckpt", Remembering((UNFIT[kind],))
    text = f"was not written \\(a {kind} would not come back as it was\\); the run goes on, let rules remember numbers"
    with pytest.warns(RuntimeWarning, match=text):
        res = ts.minimize(squares, np.ones(2), TERMS, step=rule, checkpoint=path)
    assert res.success
    assert not path.exists()


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_the_state_of_a_random_generator_comes_back(kind):
    """As JSON, too."""
    arrays, state = {}, kind(0).state
    tree = json.loads(json.dumps(packed(state, arrays)))
    ours, theirs = np.random.Generator(kind(1)), np.random.Generator(kind(0))
    ours.bit_generator.state = unpacked(tree, arrays, np.ones(2), {})
    assert (ours.random(5) == theirs.random(5)).all()


def test_a_file_makes_no_named_tuple_that_was_not_expected():
    arrays = {}
    tree = packed(State(1, np.ones(2), 0.5), arrays)
    assert type(unpacked(tree, arrays, np.ones(2), {})) is tuple


def test_a_written_file_is_read_as_it_was(tmp_path):
    path, arrays = tmp_path / "run.ckpt", {"a": np.array([0.1, np.nan]), "b": np.ones((2, 1), np.float32)}
    write(path, {"numbers": [1, 0.1, None], "inf": float("inf")}, arrays)
    info, found = read(path)
    assert info == {"numbers": [1, 0.1, None], "inf": float("inf")}
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert np.array_equal(found[name], array, equal_nan=True)
        assert found[name].dtype == array.dtype
    assert list(tmp_path.iterdir()) == [path]


class Interrupted(Selectable):
    """Ctrl-C at one call of the gradient."""

    left = 0

    def value_and_grad(self, x):
        Interrupted.left -= 1
        if Interrupted.left == 0:
            raise KeyboardInterrupt
        return super().value_and_grad(x)


@pytest.mark.parametrize("step", ["auto", 0.05])
@pytest.mark.parametrize("terms", [TERMS, [Box(-1, 1), L1(0.1), L2Ball(0.9)]])
def test_a_batch_that_is_interrupted_again_and_again_ends_as_if_it_was_not(monkeypatch, tmp_path, terms, step):
    """Bit by bit, with rows taken out on the way and a file after every iteration."""
    monkeypatch.setattr(run_module, "SAVE_SECONDS", 0.0)
    f, x0 = batch_of((12,), (4,), "convex", cls=Interrupted)
    path, options, interrupts = tmp_path / "batch.ckpt", {"batch_ndim": 1, "tol": 1e-6, "step": step}, 0
    Interrupted.left = 0
    whole = ts.minimize(f, x0, terms, **options)
    for Interrupted.left in (30, 6, 20, 9, 7, 5, 0):
        try:
            res = ts.minimize(f, x0, terms, checkpoint=path, **options)
        except KeyboardInterrupt:  # before the first iterate
            interrupts += 1
        else:
            interrupts += (res.status == ts.Status.INTERRUPTED).any()
    assert interrupts >= 3
    for run in (res, ts.minimize(f, x0, terms, checkpoint=path, **options)):
        assert np.array_equal(run.x, whole.x)
        assert np.array_equal(run.fun, whole.fun)
        assert np.array_equal(run.nit, whole.nit)
        assert np.array_equal(run.status, whole.status)
        assert np.array_equal(run.trace["iteration"], whole.trace["iteration"])


@pytest.mark.parametrize("calls", [[[k] for k in (2, 33, 60, 117, 120)], [[30, k] for k in (1, 4, 6, 9)]])
def test_counts_do_not_depend_on_where_ctrl_c_came(monkeypatch, tmp_path, calls):
    """In an iteration, in a check, while a selection is verified, or just after the check of a resumed run."""
    monkeypatch.setattr(run_module, "SAVE_SECONDS", 0.0)
    f, x0 = batch_of((12,), (4,), "convex", cls=Interrupted)
    problem, options = (f, x0, [Box(-1, 1), L1(0.1), L2Ball(0.9)]), {"batch_ndim": 1, "tol": 1e-6}
    Interrupted.left = 0
    whole, wrong = ts.minimize(*problem, **options), {}
    for interrupts in calls:
        path = tmp_path / str(interrupts)
        for Interrupted.left in (*interrupts, 0):
            with suppress(KeyboardInterrupt):  # before the first iterate
                res = ts.minimize(*problem, checkpoint=path, **options)
        assert np.array_equal(res.x, whole.x)
        if (counts := (res.nfev, res.njev, res.nprox)) != (whole.nfev, whole.njev, whole.nprox):
            wrong[tuple(interrupts)] = counts
    assert not wrong


@pytest.mark.parametrize("number", [int, np.int64, np.int32])
def test_a_step_made_for_another_number_of_iterations_is_another_run(tmp_path, number):
    f, path = (lambda x: (x @ x / 2, x)), tmp_path / "run.ckpt"
    given = {"terms": [Box(0, 1), L1(0.1)], "tol": 0, "step": "theory", "checkpoint": path}
    ts.minimize(f, np.ones(3), max_iter=number(10), **given)
    with pytest.raises(ts.InputError, match="`step` differs"):
        ts.minimize(f, np.ones(3), max_iter=number(20), **given)

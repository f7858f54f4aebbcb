"""Between two checks nothing moves between host and device, and nothing waits for the device.

Two witnesses. On the device `meta` tensors have no numbers at all, so reading one raises. And a mode that sees every
operation of PyTorch counts the reads of numbers and the copies from one device to another.
"""

from itertools import islice

import numpy as np
import pytest

import trisplit as ts
from tests.backends.problems import ON_DEVICE, setting
from tests.kinds import Kind
from trisplit.run.run import Run

TORCH = Kind("torch", "float64")
WAITS = {"cpu", "_local_scalar_dense.default"}  # by `to_numpy` and by `float`
STEPS = {"constant": 0.1, "theory": ts.steps.Theory(iterations=1000, gamma0=10.0)}


@pytest.fixture(scope="module")
def torch():
    return TORCH.xp


def transfers(torch):
    """Return a context that lists what reads numbers of a tensor, or moves it to another device."""
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    aten, tensor = torch.ops.aten, torch.Tensor
    # These never reach the dispatcher on a processor.
    reading = {tensor.numpy, tensor.tolist, tensor.item, tensor.cpu, tensor.cuda, tensor.__array__, tensor.__dlpack__}
    making = {torch.asarray, torch.tensor, torch.as_tensor, torch.from_numpy}

    class Calls(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            from_host = func in making and not isinstance(args[0], tensor)
            if func in reading or from_host:
                seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Operations(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            sources = {x.device for x in args if isinstance(x, tensor)}
            moved = isinstance(result, tensor) and sources and {result.device} != sources
            if func in (aten._local_scalar_dense.default, aten.is_nonzero.default, aten.equal.default) or moved:
                seen.append(func.__name__)
            return result

    seen: list[str] = []
    calls, operations = Calls(), Operations()

    class Witness:
        def __enter__(self):
            calls.__enter__()
            operations.__enter__()
            return seen

        def __exit__(self, *error):
            operations.__exit__(*error)
            calls.__exit__(*error)

    return Witness()


READS = {
    "float": float,
    "bool": bool,
    "int": int,
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "np.asarray": np.asarray,
    "cpu": lambda x: x.cpu(),
    "comparison": lambda x: max(x, 0.0),
    "index": lambda x: range(5)[x.long()],
    "another device": lambda x: x.to("meta"),
    "from the host": lambda x: TORCH.xp.asarray(np.ones(2)),
}


@pytest.mark.parametrize("name", READS)
def test_the_witness_sees(torch, name):
    x = torch.ones(())
    with transfers(torch) as seen:
        READS[name](x)
    assert seen


def test_the_witness_sees_nothing_else(torch):
    x = torch.ones(3)
    with transfers(torch) as seen:
        torch.where(x > 0, 2 * x - 1, torch.zeros_like(x)).sum() / torch.arange(1, 4)
    assert not seen


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ON_DEVICE)
def test_nothing_moves_between_two_checks(torch, monkeypatch, name, step):
    check, between = Run.check, []

    def check_aside(self, made, *, due):
        """Forget what the check itself reads."""
        between.append(list(seen))
        check(self, made, due=due)
        seen.clear()

    f, terms, x0 = setting(name, TORCH)
    monkeypatch.setattr(Run, "check", check_aside)
    with transfers(torch) as seen:
        res = ts.minimize(f, x0, terms, step=STEPS[step], tol=0, max_iter=40)
    assert len(between) == len(res.trace)
    assert between[0]  # checking the input and the first check read numbers, so the witness was awake
    assert not any(between[1:])


@pytest.mark.parametrize("name", [name for name in ON_DEVICE if "nuclear" not in name])
def test_a_constant_step_reads_no_number_at_all(torch, name):
    f, terms, x0 = setting(name, TORCH)
    away = type(f)(f.Q.to("meta"), f.c.to("meta"), f.lipschitz)
    states = ts.tos(ts.Problem(away, terms), x0.to("meta"), 0.1)
    next(states)  # parameters of the terms go to the device once
    with transfers(torch) as seen:
        for state in islice(states, 5):
            assert state.x.device.type == "meta"
            assert state.x.dtype == torch.float64
    assert not seen


@pytest.mark.parametrize("name", ON_DEVICE)
def test_an_adaptive_step_waits_four_times_in_an_iteration(torch, name):
    """f(z), two lengths at once, two inner products at once, f(x): and the last two again for every further trial.

    Where the curvature is not tested, one length; where the moves are not compared, one wait less.
    In Algorithm 2 each trial may ask for one number more.
    """
    f, terms, x0 = setting(name, TORCH)
    problem = ts.Problem(f, terms)
    states = ts.tos(problem, x0, "auto")
    state = next(states)
    with transfers(torch) as seen:
        for _ in range(15):
            seen.clear()
            values, waiting = problem.counts.value, state.after.memory.record.compare_in > 0
            state = next(states)
            waits = sum(name in WAITS for name in seen) - (not waiting)
            if problem.counts.value == values:  # no test
                assert waits == 1
                continue
            trials = problem.counts.value - values - 1  # f(z) is asked for once, f(x) in each trial
            in_trials = waits - 1 - (state.f_z is None)  # where the gradient ended a rest, f(z) comes by itself
            if trials:
                assert 2 * trials <= in_trials <= (2 if len(terms) <= 2 else 3) * trials
            else:  # d is so short that a comparison of values would be one of rounding errors
                assert in_trials == 1


def test_total_variation_goes_to_the_host_and_back_once(torch):
    x, term = TORCH.array(np.random.default_rng(0).standard_normal((4, 5))), ts.terms.TotalVariation()
    with transfers(torch) as seen:
        term.prox(x, 0.5)
    assert seen == ["cpu", "numpy", "asarray"]
    with transfers(torch) as seen:
        term.value(x)
    assert len(seen) == 1  # the float that is returned

"""`ts.torch.TOS`: the iterates of Algorithm 1, exact resumption, and networks whose weights keep their constraints."""

import copy
import io
import pickle
import signal
import subprocess
import sys
from itertools import islice
from math import hypot

import numpy as np
import pytest

import trisplit as ts
from tests import problems
from tests.backends.test_transfers import transfers
from tests.docs.test_examples import ROOT, load
from tests.kinds import TORCH_DEVICE, Kind
from trisplit.arrays import to_numpy

TORCH = Kind("torch", "float64")
PAIRS = {
    "none": (),
    "box": ts.terms.Box(0.0, 0.4),
    "simplex and box": (ts.terms.Simplex(), ts.terms.Box(0.0, 0.4)),
    "L1 and ball": (ts.terms.L1(0.2), ts.terms.L2Ball(0.5)),
    "only h": (ts.terms.Zero(), ts.terms.L1(0.2)),
}
N = 6


@pytest.fixture(scope="module")
def torch():
    return TORCH.xp


def quadratic(seed=0, curvature="convex"):
    """Return f in NumPy and as a function of a tensor, a start, and a safe step."""
    rng = np.random.default_rng(seed)
    f = problems.quadratic(rng, N, curvature)
    f = problems.Quadratic(f.Q + 0.3 * np.eye(N), f.c) if curvature == "convex" else f
    Q, c = TORCH.array(f.Q), TORCH.array(f.c)
    return f, lambda w: w @ (Q @ w) / 2 + c @ w, rng.standard_normal(N), 0.5 / f.lipschitz


def parameter(torch, values):
    return torch.nn.Parameter(TORCH.array(values))


def backward(optimizer, loss, w):
    optimizer.zero_grad()
    loss(w).backward()


class Steps:
    """A step rule that goes through given steps."""

    judge = None

    def __init__(self, gammas):
        self.gammas = gammas

    def start(self, problem, y):
        return self.gammas[0], (0,)

    def propose(self, problem, memory, z, y, gamma):
        return self.gammas[memory[0]], False, (memory[0] + 1,)


def near(x, y, rounding=1e-12):
    np.testing.assert_allclose(to_numpy(x), to_numpy(y), rtol=rounding, atol=rounding)


@pytest.mark.parametrize("curvature", ["convex", "indefinite"])
@pytest.mark.parametrize("name", PAIRS)
def test_iterates_are_those_of_algorithm_1_while_a_scheduler_changes_the_step(torch, name, curvature):
    f, loss, y0, gamma = quadratic(curvature=curvature)
    gammas = [gamma * (0.5 + np.cos(t) ** 2) for t in range(31)]
    w = parameter(torch, y0)
    optimizer = ts.torch.TOS([w], terms=PAIRS[name], lr=gamma)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: gammas[t] / gamma)
    optimizer.start()
    problem = ts.Problem(f, PAIRS[name] or ts.terms.Zero())
    for state in islice(ts.tos(problem, y0, Steps(gammas)), 30):
        near(w, state.z)
        s = optimizer.state[w].get("subgradient", 0.0)
        near(w + optimizer.param_groups[0]["lr"] * s, state.y)
        backward(optimizer, loss, w)
        optimizer.step()
        assert optimizer.state[w]["gamma"] == pytest.approx(state.gamma)
        near(optimizer.state[w]["move"], np.linalg.norm(state.z - state.x))
        last = optimizer.certificate()
        assert last.kind == "residual"
        assert last.stationarity == pytest.approx(ts.certificates.residual(state), rel=1e-12, abs=1e-12)
        scheduler.step()


def test_without_a_start_the_first_iteration_is_at_the_weights_themselves(torch):
    """y = z = weights, as `ts.tos` has it where they lie in the set already."""
    f, loss, _, gamma = quadratic()
    y0 = np.full(N, 1 / N)
    w = parameter(torch, y0)
    optimizer = ts.torch.TOS([w], terms=PAIRS["simplex and box"], lr=gamma)
    for state in islice(ts.tos(ts.Problem(f, PAIRS["simplex and box"]), y0, gamma), 20):
        near(w, state.z)
        backward(optimizer, loss, w)
        optimizer.step()


@pytest.mark.parametrize("name", PAIRS)
def test_converges_to_what_minimize_finds_and_certifies_it(torch, name):
    f, loss, y0, gamma = quadratic()
    w = parameter(torch, y0)
    optimizer = ts.torch.TOS([w], terms=PAIRS[name], lr=2 * gamma)
    closure = lambda: loss(w).backward()  # noqa: E731
    for _ in range(800):
        backward(optimizer, loss, w)
        optimizer.step()
    res = ts.minimize(f, y0, PAIRS[name] or ts.terms.Zero(), tol=1e-11)
    near(w, res.x, 1e-6)
    before = w.grad.clone()
    certificate = optimizer.certificate(closure)
    assert certificate.kind == res.certificate.kind
    assert abs(certificate.stationarity) < 1e-8
    assert certificate.infeasibility < 1e-8
    assert torch.equal(w.grad, before)  # a look changes nothing


def test_the_certificate_at_any_step_is_that_of_the_iteration(torch):
    f, loss, y0, gamma = quadratic(curvature="indefinite")
    w = parameter(torch, y0)
    problem = ts.Problem(f, PAIRS["simplex and box"])
    optimizer = ts.torch.TOS([w], terms=PAIRS["simplex and box"], lr=gamma)
    optimizer.start()
    for state in islice(ts.tos(problem, y0, gamma), 20):
        certificate = optimizer.certificate(lambda: loss(w).backward())
        wanted = ts.certificates.certify(problem, state)
        assert certificate.kind == wanted.kind == "bound"
        assert certificate[:2] == pytest.approx(wanted[:2], abs=1e-10)
        backward(optimizer, loss, w)
        optimizer.step()


def test_certificates_of_parameters_add_up(torch):
    _, loss, y0, gamma = quadratic()
    a, b = parameter(torch, y0), parameter(torch, y0 + 1)
    both = lambda: (loss(a) + 2 * loss(b) + a @ b).backward()  # noqa: E731
    bounded = [{"params": [a], "terms": ts.terms.Simplex()}, {"params": [b], "terms": ts.terms.Box(0, 1)}]
    optimizer = ts.torch.TOS(bounded, lr=gamma)
    both()
    optimizer.step()
    each = optimizer.certificates(both)
    assert {one.kind for one in each} <= {"gap", "bound"}
    assert optimizer.certificate(both).stationarity == pytest.approx(sum(one.stationarity for one in each))
    optimizer = ts.torch.TOS([bounded[0], {"params": [b]}], lr=gamma)
    optimizer.step()
    total, last = optimizer.certificate(both), optimizer.certificate()
    assert total.kind == last.kind == "residual"
    gradient = torch.autograd.grad(loss(a) + 2 * loss(b) + a @ b, [a, b])
    s = optimizer.state[a]["subgradient"]
    assert total.stationarity == pytest.approx(hypot(*(torch.cat([gradient[0] + s, gradient[1]]).tolist())))


def test_momentum_averages_the_gradients(torch):
    w = parameter(torch, np.zeros(2))
    optimizer = ts.torch.TOS([w], lr=0.5, momentum=0.75)
    draws = np.random.default_rng(0).standard_normal((5, 2))
    u, z = draws[0], np.zeros(2)
    for drawn in draws:
        w.grad = TORCH.array(drawn)
        optimizer.step()
        u = 0.75 * u + 0.25 * drawn
        z = z - 0.5 * u
        near(w, z)


def test_maximize_climbs(torch):
    _, loss, y0, gamma = quadratic()
    w, v = parameter(torch, y0), parameter(torch, y0)
    down = ts.torch.TOS([w], terms=PAIRS["box"], lr=gamma)
    up = ts.torch.TOS([v], terms=PAIRS["box"], lr=gamma, maximize=True)
    for _ in range(5):
        backward(down, loss, w)
        backward(up, lambda v: -loss(v), v)
        down.step()
        up.step()
    assert torch.equal(w, v)
    assert down.certificate(lambda: loss(w).backward()) == up.certificate(lambda: (-loss(v)).backward())


def test_groups_have_terms_of_their_own(torch):
    """L1 on one layer, a spectral ball on another, a simplex on the third; nothing on the rest."""
    torch.manual_seed(0)
    first, second, third = (torch.nn.Linear(5, 5, device=TORCH_DEVICE) for _ in range(3))
    network = torch.nn.Sequential(first, torch.nn.Tanh(), second, torch.nn.Tanh(), third)
    optimizer = ts.torch.TOS(
        [
            {"params": [first.weight], "terms": ts.terms.L1(0.02)},
            {"params": [second.weight], "terms": (ts.terms.SpectralBall(0.5), ts.terms.Box(-0.2, 0.2))},
            {"params": [third.weight], "terms": ts.terms.Simplex(axis=0), "lr": 0.05},
        ],
        lr=0.1,
    )
    optimizer.add_param_group({"params": [first.bias, second.bias, third.bias], "terms": []})
    data, goal = torch.randn(2, 30, 5, device=TORCH_DEVICE)

    def closure():
        optimizer.zero_grad()
        loss = ((network(data) - goal) ** 2).mean()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(300)]
    assert losses[-1] < losses[1]
    assert (first.weight == 0).any()
    assert torch.linalg.matrix_norm(second.weight, 2) <= 0.5 + 1e-6
    near(third.weight.sum(0), np.ones(5), 1e-6)
    optimizer.project()
    assert second.weight.abs().max() <= 0.2 + 1e-6
    assert torch.linalg.matrix_norm(second.weight, 2) <= 0.5 + 1e-6
    assert optimizer.certificates(closure)[1].kind == "bound"


def test_project_goes_to_the_nearest_common_point(torch):
    w = parameter(torch, np.random.default_rng(1).standard_normal(N))
    goal, sets = to_numpy(w).copy(), PAIRS["simplex and box"]
    optimizer = ts.torch.TOS([w], terms=sets, lr=0.1)
    optimizer.project()
    res = ts.minimize(lambda x: (((x - goal) ** 2).sum() / 2, x - goal), np.zeros(N), sets, tol=1e-11)
    near(w, res.x, 1e-6)
    assert optimizer.certificate(lambda: w.sum().backward()).infeasibility < 1e-8
    apart = ts.torch.TOS([w], terms=(ts.terms.Box(0, 1), ts.terms.Box(2, 3)), lr=0.1)
    with pytest.raises(ts.InputError, match="no common point of Box and Box"):
        apart.project()


# ---- What optimisers of PyTorch have to do


def run_on(torch, optimizer, loss, w, steps, scheduler=None):
    for _ in range(steps):
        backward(optimizer, loss, w)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return w.detach().clone()


@pytest.mark.parametrize("name", PAIRS)
def test_deep_copies_and_pickles_go_on_alike(torch, name):
    _, loss, y0, gamma = quadratic()
    w = parameter(torch, y0)
    optimizer = ts.torch.TOS([w], terms=PAIRS[name], lr=gamma, momentum=0.5)
    run_on(torch, optimizer, loss, w, 5)
    twins = [copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))]
    wanted = run_on(torch, optimizer, loss, w, 5)
    for twin in twins:
        (v,) = twin.param_groups[0]["params"]
        assert v is not w
        assert torch.equal(run_on(torch, twin, loss, v, 5), wanted)


SCHEDULERS = {
    "cosine to zero": lambda torch, o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 10),
    "warm up from zero": lambda torch, o: torch.optim.lr_scheduler.LambdaLR(o, lambda t: min(t / 5, 1)),
    "one cycle, with momentum": lambda torch, o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=12),
    "steps": lambda torch, o: torch.optim.lr_scheduler.StepLR(o, 3),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_saved_state_goes_on_bit_by_bit_with_a_scheduler(torch, name):
    _, loss, y0, gamma = quadratic()

    def fresh(start):
        w = parameter(torch, start)
        optimizer = ts.torch.TOS([w], terms=PAIRS["simplex and box"], lr=gamma, momentum=0.5)
        return w, optimizer, SCHEDULERS[name](torch, optimizer)

    w, optimizer, scheduler = fresh(y0)
    run_on(torch, optimizer, loss, w, 4, scheduler)
    file = io.BytesIO()
    torch.save([w.detach(), optimizer.state_dict(), scheduler.state_dict()], file)
    wanted = run_on(torch, optimizer, loss, w, 7, scheduler)
    file.seek(0)
    values, state, schedule = torch.load(file, weights_only=True)
    v, optimizer, scheduler = fresh(to_numpy(values))
    optimizer.load_state_dict(state)
    scheduler.load_state_dict(schedule)
    kept = copy.deepcopy(state)
    assert torch.equal(run_on(torch, optimizer, loss, v, 7, scheduler), wanted)
    assert torch.isfinite(wanted).all()
    assert state["param_groups"] == kept["param_groups"]  # what was loaded is not changed by what follows
    assert all(torch.equal(state["state"][0][key], kept["state"][0][key]) for key in ("subgradient", "gradient"))


def test_a_state_of_other_terms_is_refused(torch):
    w = parameter(torch, np.zeros(2))
    state = ts.torch.TOS([w], terms=ts.terms.L1(0.1)).state_dict()
    with pytest.raises(ts.InputError, match="belongs to other terms of group 0"):
        ts.torch.TOS([w], terms=ts.terms.L1(0.2)).load_state_dict(state)
    with pytest.raises(ts.InputError, match="belongs to other terms of group 0"):
        ts.torch.TOS([w]).load_state_dict(torch.optim.SGD([w], lr=0.1).state_dict())
    ts.torch.TOS([w], terms=[ts.terms.L1(0.1), ts.terms.Zero()]).load_state_dict(state)


def test_it_is_an_optimiser_like_others(torch):
    w, still, idle = (parameter(torch, np.ones(3)) for _ in range(3))
    still.requires_grad_(False)
    optimizer = ts.torch.TOS([w, still, idle], terms=ts.terms.NonNegative(), lr=0.25)
    assert isinstance(optimizer, torch.optim.Optimizer)
    with torch.no_grad():
        loss = optimizer.step(lambda: (optimizer.zero_grad(), (w**2).sum().backward(), 7.0)[-1])
    assert loss == 7.0
    near(w, np.full(3, 0.5))
    for other in (still, idle):  # no gradient, no step
        near(other, np.ones(3))
        assert other not in optimizer.state
    assert optimizer.certificates()[1:] == [None, None]
    assert "lr: 0.25" in repr(optimizer)
    named = ts.torch.TOS(torch.nn.Linear(2, 2).named_parameters(), lr=np.float32(0.5))
    assert named.param_groups[0]["param_names"] == ["weight", "bias"]


def test_single_precision_stays(torch):
    w = torch.nn.Parameter(torch.ones(3, 2, device=TORCH_DEVICE))
    optimizer = ts.torch.TOS([w], terms=(ts.terms.Simplex(axis=0), ts.terms.L1(np.ones((3, 2)))), lr=0.1, momentum=0.5)
    (w**2).sum().backward()
    optimizer.step()
    kept = [w, *(value for value in optimizer.state[w].values() if torch.is_tensor(value))]
    assert {(x.dtype, x.device.type) for x in kept} == {(torch.float32, TORCH_DEVICE)}
    assert len(kept) == 4


def test_a_step_reads_no_number_of_the_device(torch):
    w = torch.nn.Parameter(torch.ones(4, 4, device="meta"))
    optimizer = ts.torch.TOS([w], terms=(ts.terms.Simplex(axis=1), ts.terms.L1(0.1)), lr=0.1, momentum=0.9)
    for _ in range(2):
        w.grad = torch.ones_like(w)
        with transfers(torch) as seen:
            optimizer.step()
        assert not seen


REFUSED = {
    "lr = -1": ({"lr": -1.0}, "`lr` must be a finite number >= 0, got -1.0"),
    "lr = nan": ({"lr": float("nan")}, "`lr` must be a finite number >= 0, got nan"),
    "lr = tensor": ({"lr": "tensor"}, "`lr` must be a number, got Tensor"),
    "momentum = 1": ({"momentum": 1}, r"`momentum` must lie in \[0, 1\), got 1"),
    "three terms": ({"terms": [ts.terms.L1()] * 3}, "at most two"),
    "a class": ({"terms": ts.terms.L1}, "is the class L1; create it"),
    "no term": ({"terms": "l1"}, "at most two|needs `value"),
    "an axis": ({"terms": ts.terms.Simplex(axis=2)}, "Simplex of parameter 0: `axis` is 2"),
    "a size": ({"terms": ts.terms.Box(np.zeros(3), 1)}, "Box of parameter 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_line(torch, name):
    options, message = REFUSED[name]
    w = parameter(torch, np.ones(2))
    if options.get("lr") == "tensor":
        options = {"lr": torch.tensor(0.1)}
    with pytest.raises(ts.InputError, match=message) as caught:
        ts.torch.TOS([w], **options)
    assert "\n" not in str(caught.value)
    optimizer = ts.torch.TOS([w])
    with pytest.raises(ts.InputError, match=message):
        optimizer.add_param_group({"params": [parameter(torch, np.ones(2))], **options})
    assert len(optimizer.param_groups) == 1


def test_what_cannot_be_done_is_refused(torch):
    with pytest.raises(ts.InputError, match="view_as_real"):
        ts.torch.TOS([torch.nn.Parameter(torch.ones(2, dtype=torch.complex64))])
    with pytest.raises(ts.InputError, match="no shape yet"):
        ts.torch.TOS(torch.nn.LazyLinear(2).parameters())
    with pytest.raises(ts.InputError, match="`foreach` must be False"):
        ts.torch.TOS([{"params": [parameter(torch, np.ones(2))], "foreach": True}])
    layer = torch.nn.Embedding(3, 2, sparse=True)
    optimizer = ts.torch.TOS(layer.parameters())
    layer(torch.tensor([1])).sum().backward()
    with pytest.raises(ts.InputError, match="gradients must be dense"):
        optimizer.step()
    w = parameter(torch, np.ones(2))
    optimizer = ts.torch.TOS([w], terms=ts.terms.L1())
    with pytest.raises(ts.InputError, match="call `step` before"):
        optimizer.certificate()
    with pytest.raises(ts.InputError, match="a certificate needs one step"):
        optimizer.certificate(lambda: w.sum().backward())
    optimizer.param_groups[0]["lr"] = 0.0
    for ask in (optimizer.start, lambda: optimizer.certificate(lambda: w.sum().backward())):
        with pytest.raises(ts.InputError, match="`lr` is 0"):
            ask()


def test_a_missing_pytorch_is_named_with_the_remedy():
    code = """
import sys

class Nothing:
    def find_spec(name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, Nothing)
import trisplit as ts
ts.torch.TOS
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last == "ImportError: `ts.torch` needs PyTorch; pip install 'trisplit[torch]'"


# ---- A network on the digits of scikit-learn: examples/digits_network.py

EPOCHS = 30


@pytest.fixture(scope="module")
def script(torch):
    return load(ROOT / "examples/digits_network.py")


@pytest.fixture(scope="module")
def trained(script):
    return script.train(EPOCHS)


def test_a_network_with_constraints_learns_the_digits(torch, trained):
    network, history = trained
    sparse, averages = network[0].weight, network[2].weight
    assert history[-1].accuracy >= 0.96
    assert averages.min() >= 0
    assert (averages.sum(1) - 1).abs().max() <= 1e-6
    assert (sparse == 0).double().mean() > 0.5  # exact zeros
    assert history[-1].certificate.infeasibility == 0.0
    assert history[-1].certificate.stationarity < history[0].certificate.stationarity / 10


def test_a_killed_training_goes_on_bit_by_bit(torch, script, tmp_path):
    """Kill the process in the middle of the third epoch; what another one makes of its file is what nobody stopped."""
    path = tmp_path / "training.pt"
    code = f"""
import os, signal, sys
import torch
from torch.nn import functional

sys.path.insert(0, {str(ROOT / "examples")!r})
torch.set_num_threads({torch.get_num_threads()})
from pathlib import Path
import digits_network

calls, cross_entropy = [0], functional.cross_entropy

def counted(*args):
    calls[0] += 1
    if calls[0] == 100:
        os.kill(os.getpid(), signal.SIGKILL)
    return cross_entropy(*args)

functional.cross_entropy = counted
digits_network.train(4, Path({str(path)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert torch.load(path, weights_only=True)["epochs"] == 2
    wanted, history = script.train(4)
    resumed, rest = script.train(4, path)
    assert rest == history[2:]
    for name, values in wanted.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], values), name


def test_the_figure_is_drawn(script, trained, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "train", lambda: trained)
    script.main(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")

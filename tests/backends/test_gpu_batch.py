"""The batches of starts do Algorithm 1, whatever they keep where, and their certificates are valid."""

from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

torch = pytest.importorskip("torch", exc_type=ImportError)

import trisplit as ts  # noqa: E402
from trisplit.kernels.gpu import usable  # noqa: E402
from trisplit.problems.certificates import certify  # noqa: E402
from trisplit.problems.problem import Problem  # noqa: E402
from trisplit.qap import load  # noqa: E402
from trisplit.qap.concavity import POWER, Concave, Concavity  # noqa: E402
from trisplit.qap.engine import SPLITS  # noqa: E402
from trisplit.qap.gpu import matrices  # noqa: E402
from trisplit.qap.gpu.batch import SPREADS, Batch, starting_points  # noqa: E402
from trisplit.qap.gpu.iterations import HEIGHT, Plain, Resident, Streamed  # noqa: E402
from trisplit.qap.objective import Objective  # noqa: E402
from trisplit.steps import Constant  # noqa: E402
from trisplit.terms import Simplex  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
interpreted = pytest.mark.skipif(
    not usable("cpu"), reason="Triton is missing, or was imported without TRITON_INTERPRET=1"
)
BOX, SUMS = SPLITS[2]
AT_ONCE = 3  # starts: one of each spread
Full = partial(Resident, half=False)


def tangent(n, kind="symmetric", *, seed=0):
    """A tangent form; `kind` names what is special about its matrices."""
    rng = np.random.default_rng(seed)
    A, B = rng.random((2, n, n)) * 10
    kept = rng.random((n, n)) < 0.2
    if "not symmetric" not in kind:
        A, B, kept = A + A.T, B + B.T, kept | kept.T
    if "sparse A" in kind:
        A = csr_array(np.where(kept, A, 0.0))
    if "sparse B" in kind:
        B = csr_array(np.where(kept, B, 0.0))
    return Objective(A, B, rng.random((n, n)) * 50 if "linear" in kind else None).tangent()


KINDS = ("symmetric", "not symmetric", "linear", "sparse A", "not symmetric, sparse B", "linear, sparse A, sparse B")
DENSE = tuple(kind for kind in KINDS if "sparse" not in kind)


@pytest.fixture(autouse=True)
def thin(monkeypatch):
    """Small matrices stay sparse, however many entries they have."""
    monkeypatch.setattr(matrices, "THIN", 1.0)


def begun(f, loop, precision="float64", concavity=None, *, starts=AT_ONCE, seed=1):
    batch = Batch(f, starts, "cpu", precision, concavity, loop=loop)
    batch.begin(seed)
    return batch


def points(batch):
    return batch.loop.y.clone().numpy()


def close(x, y, *, ulps=100.0):
    """Say whether numbers of size 1 agree up to some rounding errors."""
    size = max(1.0, float(np.abs(y).max()))
    return float(np.abs(x - y).max()) <= ulps * size * np.finfo(x.dtype).eps


class TestPlain:
    @pytest.mark.parametrize("kind", KINDS)
    def test_iterates_of_algorithm_1(self, kind):
        f = tangent(9, kind)
        batch = begun(f, Plain)
        assert batch.form.is_sparse == ("sparse" in kind)
        assert batch.form.symmetric == ("not symmetric" not in kind)
        step = Constant(batch.form.gamma)
        paths = [ts.tos(Problem(f, SPLITS[2]), y0, step) for y0 in points(batch)]
        for _ in range(30):
            for y, z, state in zip(points(batch), batch.z.numpy(), map(next, paths), strict=True):
                # f is not convex: along some directions rounding errors grow by a third in an iteration.
                assert close(y, state.y, ulps=1000.0)
                assert close(z, state.z, ulps=1000.0)
            batch.advance(1)

    def test_two_matrices_that_are_not_symmetric(self):
        """As in bur26a: four products."""
        bur = load("bur26a")
        f = Objective(bur.A.astype(float), bur.B.astype(float)).tangent()
        batch = begun(f, Plain, starts=1)
        assert not batch.form.symmetric
        for state, _ in zip(ts.tos(Problem(f, SPLITS[2]), points(batch)[0], batch.form.gamma), range(30), strict=False):
            assert close(points(batch)[0], state.y)
            batch.advance(1)

    @pytest.mark.parametrize("kind", ["symmetric", "not symmetric"])
    def test_growing_concavity(self, kind):
        f, length = tangent(7, kind), 20
        final = f.curvature()[1]
        batch = begun(f, Plain, concavity=Concavity(final, length))
        y, gamma = points(batch)[2], batch.form.gamma
        for k in range(30):
            assert close(points(batch)[2], y)
            z = np.clip(y, 0, 1)
            u = f.grad(z) - final * min(k / length, 1.0) ** POWER * z
            y = y - z + SUMS.prox(2 * z - y - gamma * u, gamma)
            batch.advance(1)

    def test_gradient_and_value(self):
        for kind in KINDS:
            f = tangent(8, kind)
            batch = begun(f, Plain)
            z = batch.z
            bent = batch.form.bent(z)
            for k in range(AT_ONCE):
                gradient = (bent + batch.form.g0)[k].numpy() / batch.form.gamma
                assert close(gradient, f.grad(z[k].numpy()))
            assert batch.form.value(z, bent).tolist() == pytest.approx([f.value(X.numpy()) for X in z], rel=1e-12)


def twins(f, loop, precision="float64", concavity=None, **options):
    return (begun(f, each, precision, concavity, **options) for each in (loop, Plain))


@interpreted
class TestTwins:
    @pytest.mark.parametrize("n", [5, 13, 17])
    @pytest.mark.parametrize("kind", ["linear", "not symmetric"])
    def test_resident(self, n, kind):
        f = tangent(n, kind)
        concavity = Concavity(f.curvature()[1], 9)
        for precision in ("float64", "float32"):
            fused, plain = twins(f, Full, precision, concavity)
            for steps in (1, 3, 6):
                fused.advance(steps)
                plain.advance(steps)
                assert close(points(fused), points(plain))

    @pytest.mark.parametrize("kind", KINDS)
    def test_streamed(self, kind):
        n = HEIGHT + 1  # more than one block, and not a multiple of four
        f = tangent(n, kind)
        fused, plain = twins(f, Streamed, concavity=Concavity(f.curvature()[1], 4), starts=2)
        assert fused.loop.blocks == 2
        for steps in (1, 3, 2):
            fused.advance(steps)
            plain.advance(steps)
            assert close(points(fused), points(plain))
            assert close(fused.loop.rows_y.numpy(), points(plain).sum(2) + 1 - plain.z.numpy().sum(2))

    @pytest.mark.parametrize("n", [5, 13])
    def test_streamed_again_from_other_points(self, n):
        fused, plain = twins(tangent(n, "not symmetric"), Streamed, "float32", starts=2)
        for seed in (1, 2):
            for batch in (fused, plain):
                batch.begin(seed)
                batch.advance(3)
            assert close(points(fused), points(plain))

    def test_streamed_in_wide_rows(self, monkeypatch):
        """More columns than one program takes at once, and column sums that torch adds up."""
        monkeypatch.setattr("trisplit.qap.gpu.iterations.MANY", 1)
        fused, plain = twins(tangent(18, "linear"), partial(Streamed, layout=(16, 16, 1)), starts=2)
        for steps in (2, 1):
            fused.advance(steps)
            plain.advance(steps)
            assert close(points(fused), points(plain))

    @pytest.mark.parametrize("kind", DENSE)
    def test_half_precision_has_eleven_bits(self, kind):
        """One step from the same y: rounding A, z, B and A z to 11 bits changes A z B' by that part of |A| z |B|'."""
        f = tangent(13, kind)
        fused, plain = twins(f, partial(Resident, half=True), "tf32")
        form = plain.form
        for _ in range(8):
            y = plain.loop.y.clone()
            size = form.A.abs() @ y.clamp(0, 1) @ form.B.abs().mT
            if not form.symmetric:
                size += form.At.abs() @ y.clamp(0, 1) @ form.Bt.abs().mT
            fused.start(y.clone())
            fused.advance(1)
            plain.advance(1)
            off = (fused.loop.y - plain.loop.y).abs()
            assert (off <= 4.01 * 2.0**-11 * size + 1e-5).all()
            assert off.max() > 0

    @pytest.mark.parametrize("name", ["tai12b", "tai15b"])
    def test_half_precision_and_a_wide_range_of_numbers(self, name):
        problem = load(name)
        f = Objective(problem.A.astype(float), problem.B.astype(float)).tangent()
        fused, plain = twins(f, partial(Resident, half=True), "tf32")
        assert fused.form.A.abs().max() <= 1
        assert fused.form.B.abs().max() <= 1
        for batch in (fused, plain):
            batch.advance(10)
        assert float((fused.z - plain.z).abs().max()) < 0.05

    @pytest.mark.parametrize("loop", [Full, Streamed, Plain])
    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_few_rows(self, loop, n):
        f = tangent(n, "not symmetric, linear")
        fused, plain = twins(f, loop, starts=2)
        for batch in (fused, plain):
            batch.advance(4)
        assert close(points(fused), points(plain))
        assert (fused.permutations().sort(1).values == torch.arange(n)).all()

    @pytest.mark.parametrize("loop", [Full, Streamed, Plain])
    def test_no_curvature(self, loop):
        """Of esc16f one matrix is zero: there is nothing to gain, and nothing that fails."""
        esc = load("esc16f")
        f = Objective(esc.A.astype(float), esc.B.astype(float)).tangent()
        assert f.curvature() == (0.0, 0.0)
        for form in (f, Objective(np.zeros((5, 5)), np.zeros((5, 5)), np.arange(25.0).reshape(5, 5) % 7).tangent()):
            batch = begun(form, loop, "float32", Concavity(form.curvature()[1], 5), starts=1)
            batch.advance(7)
            assert np.isfinite(points(batch)).all()
            assert torch.isfinite(torch.stack(batch.certify())).all()
            assert (batch.permutations().sort(1).values == torch.arange(form.g0.shape[0])).all()

    def test_which_loop(self):
        f, large = tangent(5), tangent(130)
        kept = {name: Batch(f, 1, "cpu", name).loop for name in ("tf32", "float32", "float64")}
        assert [type(loop) for loop in kept.values()] == [Resident, Resident, Streamed]
        assert [kept["tf32"].half, kept["float32"].half] == [True, False]
        assert type(Batch(large, 1, "cpu").loop) is Streamed
        assert type(Batch(tangent(65), 1, "cpu", "float32").loop) is Streamed
        assert type(Batch(tangent(5, "sparse A"), 1, "cpu").loop) is Streamed

    def test_what_the_chip_has_room_for(self, monkeypatch):
        both = tangent(70), tangent(70, "not symmetric")
        monkeypatch.setattr("trisplit.qap.gpu.batch.on_chip", lambda device: 100_000)
        assert [type(Batch(f, 1, "cpu").loop) for f in both] == [Resident, Streamed]

    def test_products_that_cancel(self):
        """A z B' and A' z B are large, their sum is not: float16 has no such numbers."""
        rng = np.random.default_rng(0)
        S, K = rng.random((2, 6, 6))
        f = Objective(S + S.T + 1e-12 * K, 1e-12 * S + K - K.T).tangent()
        batch = begun(f, None, "tf32")
        assert not batch.form.fits_half
        assert not batch.loop.half
        batch.advance(3)
        assert np.isfinite(points(batch)).all()


class TestCertificate:
    @pytest.mark.parametrize("concave", [False, True])
    @pytest.mark.parametrize("kind", ["linear", "not symmetric", "sparse A, sparse B"])
    def test_the_bound_is_above_the_gap(self, kind, concave):
        """gap <= bound over doubly stochastic matrices <= bound over row-stochastic ones, which is the one here.

        The gap is the largest <u, z - P> over permutation matrices P: signed, it may be negative where z has no unit
        sums.
        """
        f = tangent(8, kind)
        final = f.curvature()[1]
        batch = begun(f, Plain, concavity=Concavity(final, 1) if concave else None)
        problem = Problem(Concave(f, final) if concave else f, SPLITS[2])
        batch.advance(1)  # concavity is complete then
        gamma = batch.form.gamma
        for _ in range(5):
            states = [next(ts.tos(problem, y, Constant(gamma))) for y in points(batch)]
            for k, state in enumerate(states):
                value, bound, infeasibility = (part[k].item() for part in batch.certify())
                gap = float(np.vdot(state.u, state.z)) - state.u[linear_sum_assignment(state.u)].sum()
                tightest = certify(problem, state, "bound")
                small = 1e-9 * abs(value)
                assert gap <= tightest.stationarity + small
                assert tightest.stationarity <= bound + small
                d = state.z - state.x
                rows = np.vdot(state.y - d, d) + Simplex(axis=1).support(-d)
                assert bound == pytest.approx(rows / gamma + np.vdot(state.u, d), abs=small)
                assert value == pytest.approx(f.value(state.z), rel=1e-12)
                assert infeasibility == pytest.approx(tightest.infeasibility, abs=1e-12)
                assert infeasibility == pytest.approx(float(SUMS.distance(state.z)), abs=1e-12)
            batch.advance(7)

    def test_the_bound_falls_to_zero(self):
        nug = load("nug12")
        batch = begun(Objective(nug.A.astype(float), nug.B.astype(float)).tangent(), Plain)
        before = batch.certify()
        batch.advance(2000)
        after = batch.certify()
        assert (after.bound < 1e-2 * before.bound).all()
        assert (after.bound > -1e-6 * after.value).all()
        assert (after.infeasibility < 1e-3).all()

    @interpreted
    def test_all_loops_are_worth_the_same(self):
        f = tangent(17, "linear")
        seen = []
        for loop in (Plain, Full, Streamed):
            batch = begun(f, loop, concavity=Concavity(f.curvature()[1], 6))
            batch.advance(5)
            seen.append(torch.stack(batch.certify()))
        for other in seen[1:]:
            assert torch.allclose(other, seen[0], rtol=1e-9, atol=1e-9)


class TestStartingPoints:
    @pytest.mark.parametrize("n", [1, 2, 7])
    def test_unit_sums(self, n):
        y = starting_points(n, 10, 0, "cpu", torch.float64)
        assert torch.allclose(y.sum(1), torch.ones(10, n, dtype=torch.float64))
        assert torch.allclose(y.sum(2), torch.ones(10, n, dtype=torch.float64))

    def test_the_seed_decides(self):
        one, same, other = (starting_points(5, 4, seed, "cpu", torch.float32) for seed in (2**63 - 1, 2**63 - 1, 0))
        assert torch.equal(one, same)
        assert not torch.equal(one, other)

    def test_spreads_take_turns(self):
        n = 40
        y = starting_points(n, 7, 0, "cpu", torch.float64)
        widths = (y - 1 / n).square().mean((1, 2)).sqrt() * n
        assert widths.tolist() == pytest.approx([SPREADS[k % len(SPREADS)] for k in range(7)], rel=0.1)


class TestCarelessCalls:
    def test_precision(self):
        with pytest.raises(ts.InputError, match=r"^`precision` is unknown, got 'bf16'; choose one of tf32, [^\n]*$"):
            Batch(tangent(4), 1, "cpu", "bf16")

    @pytest.mark.parametrize("starts", [0, -1, 2.5, True, None])
    def test_starts(self, starts):
        with pytest.raises(ts.InputError, match=r"^`starts` must be an integer >= 1, got [^\n]*$"):
            Batch(tangent(4), starts, "cpu")

    @pytest.mark.parametrize(
        "y",
        [torch.zeros(2, 4, 4), torch.zeros(1, 4, 4, dtype=torch.float64), torch.zeros(4, 4), np.zeros((2, 4, 4)), None],
        ids=["dtype", "starts", "axes", "NumPy", "None"],
    )
    def test_points(self, y):
        batch = Batch(tangent(4), 2, "cpu", "float64")
        with pytest.raises(
            ts.InputError, match=r"^`y` must fit the batch, got [^\n]*; pass [^\n]*torch.float64 on cpu$"
        ):
            batch.start(y)

    @pytest.mark.parametrize("loop", [Plain, pytest.param(Streamed, marks=interpreted)])
    def test_no_iterations(self, loop):
        batch = begun(tangent(6), loop)
        before = points(batch)
        batch.advance(0)
        assert batch.t == 0
        assert (points(batch) == before).all()

    @pytest.mark.parametrize("loop", [Plain, pytest.param(Streamed, marks=interpreted)])
    def test_kernels_are_launched_on_the_device_of_the_batch(self, loop, monkeypatch):
        """Other code may have another one as its own."""
        entered = []

        @contextmanager
        def current(device):
            entered.append(device)
            yield
            entered.append(None)

        def there(*args):
            assert entered[-1] == torch.device("cpu")
            return torch.zeros(1)

        monkeypatch.setattr("trisplit.qap.gpu.batch.current", current)
        batch = begun(tangent(5), loop)
        for name in ("begin", "advance"):
            monkeypatch.setattr(batch.loop, name, there)
        monkeypatch.setattr("trisplit.qap.gpu.batch.permutations", there)
        batch.begin(0)
        batch.advance(1)
        batch.permutations()
        assert entered[-1] is None

    def test_the_precision_of_products_is_left_alone(self):
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("medium")
        try:
            batch = begun(tangent(5), Plain, "tf32")
            batch.advance(2)
            batch.certify()
            assert torch.get_float32_matmul_precision() == "medium"
        finally:
            torch.set_float32_matmul_precision(before)

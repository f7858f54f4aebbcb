"""A batch equals a loop over its members, to rounding: iterates, steps, certificates, statuses and counts."""

from itertools import islice

import numpy as np
import pytest

import trisplit as ts
from tests.backends.problems import CASES
from tests.batches.problems import Quadratics, Selectable, batch_of, state_of
from trisplit.problems.measures import Measured
from trisplit.problems.product import with_two_terms
from trisplit.problems.sizes import Marks
from trisplit.run.run import Run
from trisplit.splitting.engine import Splitting
from trisplit.splitting.frank_wolfe import frank_wolfe
from trisplit.splitting.tos import iterate
from trisplit.steps import Adaptive, Constant
from trisplit.steps.decisions import FIRST
from trisplit.steps.records import over_rows
from trisplit.terms import L1, Box, L2Ball

# What is computed anew before it is read, in a batch also for problems that do not ask for it.
ANEW = ("ratio", "z_square", "z_along_d", "move", "primal", "dual", "slope_sq", "slope", "smooth_square")
REMEMBERED = [field for field in FIRST if field not in (*ANEW, "f_z", "f_x")]
BATCHES = {"one axis": (7,), "two axes": (2, 3)}


def rule(step, f):
    """Return a rule for a batch or for one problem."""
    return 0.7 / f.lipschitz if step == "constant" else step


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("step", ["constant", "auto", "theory"])
@pytest.mark.parametrize("name", CASES)
def test_a_batch_equals_a_loop_over_its_members(name, step, batch):
    (terms, shape), batch = CASES[name], BATCHES[batch]
    unbounded = "nuclear" in name or "variation" in name  # if f is not
    f, x0 = batch_of(batch, shape, "convex" if unbounded else "indefinite")
    options = {"tol": 1e-5, "max_iter": 150}
    res = ts.minimize(f, x0, terms, batch_ndim=len(batch), step=rule(step, f), **options)
    assert res.x.shape == x0.shape
    for place in np.ndindex(batch):
        own = f.member(place)
        alone = ts.minimize(own, x0[place], terms, step=rule(step, own), **options)
        assert (res.status[place], res.nit[place]) == (alone.status, alone.nit)
        assert res.iteration[place] == alone.iteration
        assert res.success[place] == alone.success
        assert res.message[place] == alone.message
        assert res.certificate.kind == alone.certificate.kind
        slack = 1e-6 if step == "auto" else 1e-10
        assert np.allclose(res.x[place], alone.x, rtol=slack, atol=slack * (1 + np.abs(alone.x).max()))
        assert res.fun[place] == pytest.approx(alone.fun, rel=slack, abs=slack)
        for ours, theirs in zip(res.certificate[:2], alone.certificate[:2], strict=True):
            assert ours[place] == pytest.approx(theirs, rel=1e-5, abs=10 * slack)
        assert res.guarantee[place] == alone.guarantee


@pytest.mark.parametrize("relax", [1.0, 1.4])
@pytest.mark.parametrize("name", CASES)
def test_iterates_and_steps_are_those_of_the_members(name, relax):
    """Only a few: near the solution a refused step shrinks by a ratio of differences in which most digits cancel."""
    terms, shape = CASES[name]
    f, x0 = batch_of((5,), shape, "convex")
    states = list(islice(ts.tos(ts.Problem(f, terms, batch_ndim=1), x0, relax=relax), 12))
    for i in range(5):
        alone = islice(ts.tos(ts.Problem(f.member(i), terms), x0[i], relax=relax), 12)
        for state, own in zip(states, alone, strict=True):
            assert state.gamma[i].item() == pytest.approx(own.gamma, rel=1e-4)
            for array in ("z", "x", "y", "u"):
                ours, theirs = getattr(state, array)[i], getattr(own, array)
                assert np.allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def space_of(name, batch, curvature="convex"):
    """Return the problem of a batch in the space of its iteration, a function for those of its members, and x0."""
    terms, shape = CASES[name]
    f, x0 = batch_of(batch, shape, curvature)

    def space(f, batch_ndim=0):
        return with_two_terms(ts.Problem(f, terms, batch_ndim=batch_ndim))

    return space(f, len(batch)), lambda place: space(f.member(place)), x0


@pytest.mark.parametrize("name", CASES)
def test_one_iteration_is_that_of_each_member(name):
    """All that the next iteration depends on, from every state of a run: step, arrays and numbers of the rule."""
    problem, member, x0 = space_of(name, (9,), "indefinite")
    refused, rule, made = 0, Adaptive(), None
    for made in islice(ts.tos(problem, x0), 25):
        asked, before = problem.counts.prox, made.after
        new = iterate(problem, before, rule)
        refused += problem.counts.prox - asked > (2 if problem.hands_out_z else len(problem.base.terms))
        for i in range(9):
            own = iterate(member(i), state_of(before, i), rule)
            equal_rows([new], [own], i)
            ours, theirs = state_of(new.after, i), own.after
            assert ours.t == theirs.t
            assert np.allclose(ours.y, theirs.y, rtol=1e-8, atol=1e-8)
            ours, theirs = ours.memory.record, theirs.memory.record
            same_numbers(ours, theirs, 1e-4, of_ratio=10, abs=1e-10, nan_ok=True)  # in which most digits cancel
        size = sum(problem.norms(new.z, new.y - new.z))
        assert (new.after.memory.record.size >= size * (1 - 1e-9)).all()
    assert made.t == 25


def same_numbers(ours, theirs, rel, of_ratio=1.0, **options):
    """A batch takes the size of all its problems where the bound on that of one may be too loose."""
    for field in REMEMBERED:
        mine, other = getattr(ours, field), getattr(theirs, field)
        loose = of_ratio * rel if field == "test_ratio" else rel
        tighter = field == "size" and mine < other
        assert tighter or mine == pytest.approx(other, rel=loose, **options), field


def equal_rows(batch, alone, i, rtol=1e-6):
    for made, own in zip(batch, alone, strict=True):
        assert made.gamma[i].item() == pytest.approx(own.gamma, rel=rtol)
        for name in ("z", "x", "y", "u", "d"):
            assert np.allclose(getattr(made, name)[i], getattr(own, name), rtol=rtol, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_a_refused_step_is_tried_again_for_that_problem_alone(name):
    """A step that is accepted stays as it is, bit by bit, however often those of other problems are refused."""
    problem, _, x0 = space_of(name, (40,))
    *_, made = islice(ts.tos(problem, x0), 6)
    before, runs = made.after, []
    for long in (1.0, 1e4):  # too long for every fifth problem
        factor = np.where(np.arange(40) % 5 == 0, long, 1.0)
        record = before.memory.record.copy()
        record.gamma = record.gamma * factor
        record.test_in = record.last_rest = 0.0
        gamma, asked = problem.as_steps(record.gamma, before.y), problem.counts.value
        start = before._replace(gamma=gamma, memory=before.memory._replace(record=record))
        runs.append(iterate(problem, start._replace(y=start.y), Adaptive()))
        trials = problem.counts.value - asked
    assert trials > 2
    others = np.arange(40) % 5 != 0
    for name in ("z", "x", "u", "d", "gamma"):
        plain, tried = (getattr(run, name)[others] for run in runs)
        assert np.array_equal(plain, tried), name
    plain, tried = (run.after.memory.record.rows[others] for run in runs)
    assert np.array_equal(plain, tried)
    assert (runs[1].gamma[~others] < 1e4 * runs[0].gamma[~others]).all()


@pytest.mark.parametrize("batch", [(40,), (8, 5)])
@pytest.mark.parametrize("name", CASES)
def test_a_step_that_rests_is_tested_where_the_gradient_surges(name, batch):
    """Nothing is tested between two comparisons; here some gradients looked short, so that these ones surge."""
    problem, member, x0 = space_of(name, batch)
    *_, made = islice(ts.tos(problem, x0), 6)
    surges, record = np.arange(40) % 9 == 0, made.after.memory.record.copy()
    record.compare_in = record.test_in = record.last_rest = 2.0
    record.slope_sq_at_test = np.where(surges, 1e-9, 1e9)
    resting = made.after._replace(memory=made.after.memory._replace(record=record))
    asked = problem.counts.value
    made = next(ts.tos(problem, x0, resume=resting))
    assert problem.counts.value > asked
    after = made.after.memory.record
    assert np.array_equal(after.slope_sq_at_test == record.slope_sq_at_test, ~surges)
    assert (after.test_in[~surges] == 1.0).all()
    for i, place in enumerate(np.ndindex(*batch)):
        own = member(place)
        alone = next(ts.tos(own, x0[place], resume=state_of(resting, place)))
        assert (own.counts.value > 0) == surges[i]
        equal_rows([made], [alone], place)
        ours, theirs = state_of(made.after, place).memory.record, alone.after.memory.record
        same_numbers(ours, theirs, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("terms", [[Box(-1, 1), L2Ball(0.7)], [Box(-1, 1), L1(0.1), L2Ball(0.7)]])
@pytest.mark.parametrize("batch", [(6,), (2, 3), ()])
def test_equal_runs_are_equal_bit_by_bit_wherever_arrays_lie(batch, terms):
    rng = np.random.default_rng(0)
    f, x0 = batch_of((6,), (4,))
    f, x0 = (Selectable(f.Q.reshape(*batch, 4, 4), f.c.reshape(*batch, 4)), x0) if batch else (f.member(0), x0[0])
    answers, kept = set(), []
    for k in range(40):
        kept.append(np.empty(int(rng.integers(1, 100 * k + 2))))
        start = (2 * x0).reshape(*batch, 4)
        res = ts.minimize(f, start, terms, batch_ndim=len(batch), tol=0, max_iter=60)
        answers.add(res.x.tobytes() + np.asarray(res.certificate.stationarity).tobytes())
    assert len(answers) == 1


class Own:
    """A set that measures no distances."""

    indicator = convex = True

    def __init__(self, source):
        self.value, self.prox = source.value, source.prox


MEASURED = [
    [Box(-1, 1), L2Ball(0.6)],
    [L2Ball(0.6), Box(-0.3, 0.5)],
    [L2Ball(0.6), L1(0.1), Box(-1, 1)],
]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("terms", MEASURED)
def test_how_good_points_are_is_measured_as_for_the_members(terms, batch, own):
    """And a member that is not finite leaves the others alone."""
    f, x0 = batch_of(BATCHES[batch], (4,))
    k, size = len(BATCHES[batch]), int(np.prod(BATCHES[batch]))

    def engine(f, x0, batch_ndim):
        last = Own(terms[-1].batched(batch_ndim)) if own else terms[-1]
        problem = ts.Problem(f, [*terms[:-1], last], batch_ndim=batch_ndim)
        return Splitting(with_two_terms(problem), x0, Constant(0.05))

    whole = engine(f, x0, k)
    alone = [engine(f.member(place), x0[place], 0) for place in np.ndindex(BATCHES[batch])]
    for t in range(1, 9):
        for one in (whole, *alone):
            one.advance(t)
        measured = whole.measure(whole.now, whole.scales(1e-6, 0.0), Marks(x0, x0, x0)).numbers
        for i, one in enumerate(alone):
            theirs = one.measure(one.now, one.scales(1e-6, 0.0), Marks(*[one.x0] * 3)).numbers
            for name in Measured._fields:
                ours = getattr(measured, name)[i]
                np.testing.assert_allclose(ours, getattr(theirs, name), rtol=1e-12, atol=1e-12)
        third = np.arange(size).reshape(*BATCHES[batch], *(1,) * (whole.now.u.ndim - k)) == 2
        nan = whole.now._replace(u=np.where(third, np.nan, whole.now.u))
        broken = whole.measure(nan, whole.scales(1e-6, 0.0), Marks(x0, x0, x0)).numbers
        assert np.array_equal(np.flatnonzero(~np.isfinite(broken.fun)), [2])
        others = np.arange(size) != 2
        for name in Measured._fields:
            ours, theirs = getattr(broken, name)[others], getattr(measured, name)[others]
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("step", ["constant", "auto"])
@pytest.mark.parametrize("name", ["two simplices", "groups and ball", "three terms"])
@pytest.mark.filterwarnings("ignore:more time went")  # Quadratics cannot select
def test_finished_problems_are_taken_out_where_f_can_select(name, step):
    terms, shape = CASES[name]
    results, sizes = [], []

    class Watched(Selectable):
        def value_and_grad(self, x):
            sizes.append(x.shape[0])
            return super().value_and_grad(x)

        def select(self, members):
            return Watched(self.Q[members], self.c[members])

    for cls in (Watched, Quadratics):
        f, x0 = batch_of((30,), shape, "convex", cls=cls)
        results.append(ts.minimize(f, x0, terms, batch_ndim=1, step=rule(step, f), tol=1e-4))
    taken_out, masked = results
    assert taken_out.success.all()
    assert sizes[0] == 30
    assert sizes[-1] < 30 / 2
    assert np.array_equal(taken_out.nit, masked.nit)
    assert np.allclose(taken_out.x, masked.x, rtol=1e-7, atol=1e-7)


def test_each_problem_may_have_terms_of_its_own():
    f, x0 = batch_of((6,), (4,))
    half, weights = np.linspace(0.2, 1, 6)[:, None] * np.ones(4), np.linspace(0, 0.5, 6)[:, None]
    res = ts.minimize(f, x0, [Box(-half, half), L1(weights)], batch_ndim=1, tol=1e-8)
    for i in range(6):
        alone = ts.minimize(f.member(i), x0[i], [Box(-half[i], half[i]), L1(weights[i])], tol=1e-8)
        assert res.nit[i] == alone.nit
        assert np.allclose(res.x[i], alone.x, atol=1e-9)
    assert res.success.all()
    assert len(set(res.nit)) > 1


def test_problems_of_one_number_each():
    c = np.array([-3.0, 0.2, 5.0])
    res = ts.minimize(lambda x: (x**2 / 2 + c * x, x + c), np.zeros(3), [Box(-1, 1), L1(0.5)], batch_ndim=1)
    assert np.allclose(res.x, [1.0, 0.0, -1.0], atol=1e-6)


class Spoilt(Selectable):
    """The value of the problem with the largest c_1 is NaN once its x has left the origin."""

    def value_and_grad(self, x):
        value, grad = super().value_and_grad(x)
        bad = (self.c[:, 0] == 99.0) & (np.abs(x).sum(axis=-1) > 0.5)
        return np.where(bad, np.nan, value), np.where(bad[:, None], np.nan, grad)

    def select(self, members):
        return Spoilt(self.Q[members], self.c[members])


@pytest.mark.parametrize("terms", [[Box(-1, 1), L2Ball(0.9)], [Box(-1, 1), L1(0.1), L2Ball(0.9)]])
def test_a_problem_that_is_not_finite_leaves_the_others_alone(terms):
    f, x0 = batch_of((5,), (4,), "convex", cls=Spoilt)
    clean = ts.minimize(f, 0 * x0, terms, batch_ndim=1, step=0.05)
    f.c[3, 0] = 99.0
    res = ts.minimize(f, 0 * x0, terms, batch_ndim=1, step=0.05)
    assert res.status[3] is ts.Status.NOT_FINITE
    assert np.isfinite(res.x).all()
    others = np.arange(5) != 3
    assert res.success[others].all()
    assert np.allclose(res.x[others], clean.x[others], atol=1e-12)


def test_nan_in_one_matrix_leaves_the_others_alone():
    term = ts.terms.NuclearNorm(0.5).batched(1)
    x = np.random.default_rng(0).standard_normal((3, 4, 2))
    expected = term.prox(x, 1.0)
    x[1, 0, 0] = np.nan
    moved = term.prox(x, 1.0)
    assert np.isnan(moved[1]).all()
    assert np.allclose(moved[[0, 2]], expected[[0, 2]])


def test_problems_that_are_not_finite_at_all():
    with pytest.raises(ts.InputError, match="start where both are finite"):
        ts.minimize(lambda x: (np.full(3, np.nan), x), np.zeros((3, 2)), Box(-1, 1), batch_ndim=1)


@pytest.mark.parametrize("output", ["last", "best", "random"])
def test_outputs(output):
    f, x0 = batch_of((6,), (5,))
    terms = [Box(-1, 1), L2Ball(0.9)]
    res = ts.minimize(f, x0, terms, batch_ndim=1, output=output, tol=0, max_iter=40, rng=5)
    again = ts.minimize(f, x0, terms, batch_ndim=1, output=output, tol=0, max_iter=40, rng=5)
    assert np.array_equal(res.x, again.x)
    assert (res.nit == 40).all()
    assert set(res.status) == {ts.Status.MAX_ITER}
    if output == "random":
        assert len(set(res.iteration)) > 1
        assert res.seed == 5
        return
    for i in range(6):
        alone = ts.minimize(f.member(i), x0[i], terms, output=output, tol=0, max_iter=40)
        rounding = max(abs(res.certificate.stationarity[i]), abs(alone.certificate.stationarity)) < 1e-15
        assert res.iteration[i] == alone.iteration or rounding
        assert np.allclose(res.x[i], alone.x, atol=1e-9)


def test_the_drawn_iterate_is_uniform():
    f, x0 = batch_of((2000,), (2,))
    res = ts.minimize(f, x0, Box(-1, 1), batch_ndim=1, step=0.01, output="random", tol=0, max_iter=4, rng=0)
    counts = np.bincount(res.iteration, minlength=5)[1:]
    assert counts.sum() == 2000
    assert np.abs(counts - 500).max() < 5 * (500 * 0.75) ** 0.5


def test_the_callback_sees_every_problem_at_its_place():
    f, x0 = batch_of((12,), (4,), "convex")
    seen = []

    def watch(state):
        seen.append(state.z.shape)
        return state.t == 80

    res = ts.minimize(f, x0, Box(-1, 1), batch_ndim=1, callback=watch)
    assert set(seen) == {(12, 4)}
    assert len(set(res.nit)) > 1
    assert res.success.any()


def test_ctrl_c_returns_what_was_found():
    f, x0 = batch_of((8,), (4,), "convex")

    def interrupt(state):
        if state.t == 9:
            raise KeyboardInterrupt

    res = ts.minimize(f, x0, [Box(-1, 1), L2Ball(0.5)], batch_ndim=1, tol=1e-12, callback=interrupt)
    stopped = res.status == ts.Status.INTERRUPTED
    assert stopped.any()
    assert (res.nit[stopped] == 9).all()
    assert np.isfinite(res.fun).all()


def test_a_time_limit_is_kept():
    f, x0 = batch_of((8,), (4,))
    res = ts.minimize(f, x0, [Box(-1, 1), L2Ball(0.5)], batch_ndim=1, tol=0, max_iter=10**9, time_limit=0.2)
    assert set(res.status) == {ts.Status.TIME_LIMIT}
    assert res.elapsed < 1.0


def test_what_is_printed():
    f, x0 = batch_of((8,), (4,), "convex")
    res = ts.minimize(f, x0, Box(-1, 1), batch_ndim=1)
    assert len(res) == 8
    assert repr(res).startswith("BatchResult(8 problems, CONVERGED: 8, nit=")
    assert res.trace["unfinished"][0] == 8
    assert str(res.trace.rows[0]).startswith("1 it  8 unfinished  stat ")
    with pytest.raises(KeyError, match="unfinished"):
        res.trace["objective"]


WRONG = {
    "one value for all": (lambda x: ((x**2).sum(), 2 * x), {}, r"`f` must return a value for each problem, .* \(3,\)"),
    "values of each entry": (lambda x: (x**2, 2 * x), {}, r"got shape \(3, 2\)"),
    "too many axes": (
        lambda x: ((x**2).sum(-1), 2 * x),
        {"batch_ndim": 3},
        "an integer from 0 to 2",
    ),
    "no integer": (lambda x: ((x**2).sum(-1), 2 * x), {"batch_ndim": True}, "`batch_ndim`"),
    "negative": (lambda x: ((x**2).sum(-1), 2 * x), {"batch_ndim": -1}, "`batch_ndim`"),
    "steps of another batch": (lambda x: ((x**2).sum(-1), 2 * x), {"step": np.ones(4)}, r"`step` .* shape \(4,\)"),
    "a step that is not positive": (lambda x: ((x**2).sum(-1), 2 * x), {"step": np.array([1, 0, 1])}, "`step` must"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    f, options, message = WRONG[name]
    with pytest.raises(ts.InputError, match=message):
        ts.minimize(f, np.zeros((3, 2)), Box(-1, 1), **{"batch_ndim": 1, **options})


def test_a_term_without_values_for_each_problem_is_refused():
    class Own:
        def value(self, x):
            return 0.0

        def prox(self, x, gamma):
            return x

    with pytest.raises(ts.InputError, match=r"`terms\[0\]` \(Own\) must return a value for each problem"):
        ts.minimize(lambda x: ((x**2).sum(-1), 2 * x), np.zeros((3, 2)), Own(), batch_ndim=1)


def test_steps_of_each_problem_without_a_batch_are_refused():
    with pytest.raises(ts.InputError, match="`step` must be one number"):
        ts.minimize(lambda x: ((x**2).sum(), 2 * x), np.zeros(3), Box(-1, 1), step=np.ones(3))


def test_frank_wolfe_takes_one_problem():
    f, x0 = batch_of((3,), (4,))
    with pytest.raises(ts.InputError, match="one problem at a time"):
        next(frank_wolfe(ts.Problem(f, Box(-1, 1), batch_ndim=1), 0 * x0))


@pytest.mark.parametrize("step", ["auto", "constant", "theory"])
@pytest.mark.parametrize("output", ["last", "random", "best"])
@pytest.mark.parametrize("cls", [Selectable, Quadratics])
@pytest.mark.parametrize("name", ["two simplices", "three terms"])
@pytest.mark.filterwarnings("ignore:more time went")  # Quadratics cannot select
def test_a_stopped_batch_goes_on_bit_by_bit(tmp_path, name, cls, output, step):
    terms, shape = CASES[name]
    f, x0 = batch_of((2, 5), shape, "convex", cls=cls)
    chosen = ts.steps.Theory(iterations=300) if step == "theory" else rule(step, f)
    options = {"batch_ndim": 2, "step": chosen, "output": output, "tol": 1e-4, "rng": 2}
    whole = ts.minimize(f, x0, terms, max_iter=300, **options)
    path = tmp_path / "batch.ckpt"
    for until in whole.trace["iteration"][[4, 7, -2]].tolist():  # a run looks where it ends, so only there
        ts.minimize(f, x0, terms, max_iter=until, checkpoint=path, **options)
    res = ts.minimize(f, x0, terms, max_iter=300, checkpoint=path, **options)
    again = ts.minimize(f, x0, terms, max_iter=300, checkpoint=path, **options)
    for run in (res, again):
        assert np.array_equal(run.x, whole.x)
        assert np.array_equal(run.fun, whole.fun)
        assert np.array_equal(run.nit, whole.nit)
        assert np.array_equal(run.status, whole.status)
        assert all(map(np.array_equal, run.certificate, whole.certificate))


def test_counts_of_a_batch_that_broke_off_are_those_of_the_whole(monkeypatch, tmp_path):
    """What a resumed run computes again to verify selections does not count."""
    left = [10**6]

    class Breaking(Selectable):
        def grad(self, x):
            left[0] -= 1
            if left[0] == 0:
                raise RuntimeError("broken")
            return super().grad(x)

    monkeypatch.setattr("trisplit.run.run.SAVE_SECONDS", 0.0)
    f, x0 = batch_of((12,), (4,), "convex", cls=Breaking)
    problem, options = (f, x0, [Box(-1, 1), L2Ball(0.7)]), {"batch_ndim": 1, "tol": 1e-8, "step": rule("constant", f)}
    whole, path, broken = ts.minimize(*problem, **options), tmp_path / "batch.ckpt", 0
    for left[0] in (60, 25, 30, 10**6):
        try:
            res = ts.minimize(*problem, checkpoint=path, **options)
        except RuntimeError:
            broken += 1
    assert broken == 3
    assert np.array_equal(res.x, whole.x)
    assert (res.nfev, res.njev, res.nprox) == (whole.nfev, whole.njev, whole.nprox)
    assert np.array_equal(res.trace["gradients"], whole.trace["gradients"])


def test_another_batch_does_not_take_over_a_checkpoint(tmp_path):
    f, x0 = batch_of((4,), (4,))
    path = tmp_path / "batch.ckpt"
    ts.minimize(f, x0, Box(-1, 1), batch_ndim=1, max_iter=5, checkpoint=path)
    with pytest.raises(ts.InputError, match="batch_ndim"):
        ts.minimize(lambda x: (f.value(x).sum(), f.grad(x)), x0, Box(-1, 1), max_iter=5, checkpoint=path)


def test_checks_are_at_the_same_iterations():
    """Or problems would stop at other iterations than alone."""
    f, x0 = batch_of((3,), (4,), "convex")
    res = ts.minimize(f, x0, [Box(-1, 1), L2Ball(0.3)], batch_ndim=1, tol=0, max_iter=100)
    alone = ts.minimize(f.member(0), x0[0], [Box(-1, 1), L2Ball(0.3)], tol=0, max_iter=100)
    assert np.array_equal(res.trace["iteration"], alone.trace["iteration"])


def test_an_f_that_is_not_finite_between_two_looks_is_noticed_at_once():
    """As for one problem: the drivers look at t = 16 and t = 19, and f of one problem is NaN in between."""
    broken, seen = [False], []

    class Breaking(Quadratics):
        def value_and_grad(self, x):
            value, grad = super().value_and_grad(x)
            return np.where(broken[0] & (np.arange(len(value)) == 2), np.nan, value), grad

    def watch(state):
        broken[0] = 16 <= state.t < 18
        if state.f_z is not None and np.isnan(state.f_z).any():
            seen.append(state.t)

    f, x0 = batch_of((4,), (4,), cls=Breaking)
    res = ts.minimize(f, x0, [Box(-1, 1), L1(0.1)], batch_ndim=1, tol=0, max_iter=30, callback=watch)
    assert seen[0] in (17, 18)
    assert not {17, 18} & set(res.trace["iteration"])
    assert res.status[2] is ts.Status.NOT_FINITE
    assert res.nit[2] == seen[0]
    assert (res.nit[[0, 1, 3]] == 30).all()


def test_nothing_is_compiled_while_the_time_counts(monkeypatch):
    """Neither for the step nor for the checks."""
    run, compiled = Run.run, []

    def watched(self, guarantees):
        before = over_rows.cache_info().misses
        res = run(self, guarantees)
        compiled.append(over_rows.cache_info().misses - before)
        return res

    over_rows.cache_clear()
    monkeypatch.setattr(Run, "run", watched)
    f, x0 = batch_of((3,), (4,))
    assert ts.minimize(f, x0, [Box(-1, 1), L1(0.1)], batch_ndim=1).success.all()
    assert compiled == [0]

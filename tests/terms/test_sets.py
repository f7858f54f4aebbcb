"""What the contracts do not say of sets: fast kernels and their plain twins, operators, derivatives, refusals."""

from math import inf, nan

import numpy as np
import pylops
import pytest
from scipy.sparse import csr_array, random_array
from scipy.sparse.linalg import aslinearoperator

from trisplit.errors import InputError
from trisplit.terms import (
    Affine,
    AffineOperator,
    Birkhoff,
    Box,
    BoxSection,
    CappedSimplex,
    ColumnSums,
    Free,
    GraphOfLinearMap,
    HalfSpace,
    Hypercube,
    Hyperplane,
    L1Ball,
    L2Ball,
    L21Ball,
    LInfinityBall,
    NonNegativeL2Ball,
    Point,
    Polyhedron,
    RowAndColumnSums,
    RowSums,
    Simplex,
    Slab,
    SolidSimplex,
    Sphere,
    Subspace,
    TransportPolytope,
    UnitSums,
    WeightedL1Ball,
)
from trisplit.terms.sets import simplex as simplex_file

SETS = {
    "simplex": lambda axis, total: Simplex(axis=-1 if axis is None else axis, total=total),
    "solid": lambda axis, total: SolidSimplex(total, axis),
    "ball": lambda axis, total: L1Ball(total, axis),
}
POINTS = {
    "rough": lambda rng, shape: rng.standard_normal(shape),
    "ties": lambda rng, shape: np.round(2 * rng.standard_normal(shape)),
    "constant": lambda rng, shape: np.full(shape, 0.3),
    "zero": lambda rng, shape: np.zeros(shape),
    "huge": lambda rng, shape: 1e30 * rng.standard_normal(shape),
    "steep": lambda rng, shape: np.geomspace(1e-8, 1.0, np.prod(shape)).reshape(shape),
    "shifted": lambda rng, shape: 1e4 + rng.standard_normal(shape),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", SETS)
def test_kernels_agree_with_sorting(monkeypatch, name, point, axis, dtype):
    shape = (41, 37) if axis is not None else (1517,)
    x = POINTS[point](np.random.default_rng(0), shape).astype(dtype)
    x.flags.writeable = False
    for total in (1e-3, 1.0, 300.0):
        term = SETS[name](axis, total)
        fast = term.project(x)
        monkeypatch.setattr(simplex_file, "MANY", x.size + 1)
        plain = term.project(x.astype(float))
        monkeypatch.undo()
        assert fast.dtype == dtype
        assert np.abs(fast - plain).max() <= 40 * np.finfo(dtype).eps * total


@pytest.mark.parametrize("name", SETS)
def test_kernels_see_strides_and_batches(name):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((12, 10, 16))
    term = SETS[name](-1, 1.0)
    assert np.array_equal(term.project(x[::-1, :, ::-1]), term.project(x)[::-1, :, ::-1])
    alone = np.stack([term.project(row) for row in x])
    assert np.allclose(term.batched(1).project(x), alone, rtol=0, atol=1e-14)
    if name != "simplex":
        whole = SETS[name](None, 1.0)
        alone = np.stack([whole.project(row) for row in x])
        assert np.allclose(whole.batched(1).project(x), alone, rtol=0, atol=1e-14)


@pytest.mark.parametrize("bad", [nan, inf])
@pytest.mark.parametrize("name", SETS)
def test_a_line_with_nan_becomes_nan(name, bad):
    x = np.random.default_rng(2).standard_normal((50, 40))
    x[3, 5] = bad
    p = SETS[name](1, 1.0).project(x)
    assert np.isnan(p[3]).all()
    assert np.isfinite(np.delete(p, 3, axis=0)).all()


def test_entries_of_minus_infinity_become_zero():
    x = np.random.default_rng(3).standard_normal((50, 40))
    x[:, 7] = -inf
    p = Simplex(axis=1).project(x)
    assert np.array_equal(p[:, 7], np.zeros(50))
    assert np.allclose(p.sum(axis=1), 1.0)


def test_whole_numbers_are_projected_as_floats():
    x = np.arange(2000)
    assert np.allclose(Simplex().project(x), np.eye(2000)[-1])


@pytest.mark.parametrize("seed", range(3))
def test_a_capped_simplex_that_does_not_bind_is_the_simplex(seed):
    x = 3 * np.random.default_rng(seed).standard_normal(50)
    expected = Simplex(total=2.0).project(x)
    assert np.allclose(CappedSimplex(2.0, cap=2.0).project(x), expected, rtol=0, atol=1e-14)
    assert np.allclose(BoxSection(1.0, 2.0, 0.0, inf).project(x), expected, rtol=0, atol=1e-13)
    assert np.allclose(BoxSection(-1.0, -2.0, 0.0, inf).project(x), expected, rtol=0, atol=1e-13)
    assert np.allclose(WeightedL1Ball(2.0, 4.0).project(x), L1Ball(2.0).project(x), rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_a_section_of_the_whole_space_is_a_hyperplane(seed):
    rng = np.random.default_rng(seed)
    a, x = rng.standard_normal(20), 5 * rng.standard_normal(20)
    expected = Hyperplane(a, 0.7).project(x)
    assert np.allclose(BoxSection(a, 0.7, -inf, inf).project(x), expected, rtol=0, atol=1e-13)
    assert np.allclose(Affine(a[None], [0.7]).project(x), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0, 1e6, 1e100])
@pytest.mark.parametrize("seed", range(3))
def test_projections_onto_transport_polytopes_are_optimal(scale, seed):
    """p is the projection of V if no X of the polytope has <V - p, X> > <V - p, p>, which the linear oracle decides."""
    rng = np.random.default_rng(seed)
    rows, columns = np.round(4 * rng.random(15)), rng.random(12)
    rows[0] = 2.0
    columns *= rows.sum() / columns.sum()
    for term, shape in ((Birkhoff(), (20, 20)), (TransportPolytope(rows, columns), (15, 12))):
        V = scale * rng.standard_normal(shape)
        p = term.project(V)
        sums = (1.0, 1.0) if isinstance(term, Birkhoff) else (rows, columns)
        assert p.min() >= 0
        assert np.allclose(p.sum(axis=1), sums[0], rtol=0, atol=1e-12)
        assert np.allclose(p.sum(axis=0), sums[1], rtol=0, atol=1e-12)
        normal = (V - p) / max(1.0, scale)
        assert np.vdot(normal, term.lmo(-normal) - p) <= 1e-11


def test_operators_sparse_matrices_and_dense_ones_are_one_set():
    rng = np.random.default_rng(0)
    A = random_array((30, 80), density=0.2, rng=rng, data_sampler=rng.standard_normal)
    b, x = rng.standard_normal(30), rng.standard_normal(80)
    expected = Affine(A.toarray(), b).project(x)
    for each in (A, csr_array(A), aslinearoperator(A), pylops.MatrixMult(A.toarray())):
        assert np.allclose(AffineOperator(each, b).project(x), expected, rtol=0, atol=1e-11)


def test_a_polyhedron_of_a_simplex():
    rng = np.random.default_rng(0)
    term = Polyhedron(-np.eye(30), np.zeros(30), np.ones((1, 30)), [1.0])
    for scale in (0.1, 1.0, 100.0):
        x = scale * rng.standard_normal(30)
        assert np.allclose(term.project(x), Simplex().project(x), rtol=0, atol=1e-12 * (1 + scale))


def test_many_inequalities():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 40))
    term, x = Polyhedron(A, rng.random(200)), 3 * rng.standard_normal(40)
    p = term.project(x)
    assert (A @ p - term.b).max() <= 1e-12
    active = A[A @ p >= term.b - 1e-10]
    multipliers = np.linalg.lstsq(active.T, x - p, rcond=None)[0]
    assert np.allclose(active.T @ multipliers, x - p, rtol=0, atol=1e-10)
    assert multipliers.min() >= -1e-10


def test_the_whole_space_supports_zero_alone():
    assert Free().support(np.zeros(3)) == 0.0
    assert Free().support(np.array([0.0, 1e-300])) == inf


REFUSED = [
    (lambda: Point(nan), "at"),
    (lambda: Hypercube(0.0), "side"),
    (lambda: L2Ball(1.0, axis=0.5), "axis"),
    (lambda: LInfinityBall(-1.0), "radius"),
    (lambda: LInfinityBall(1.0, inf), "center"),
    (lambda: NonNegativeL2Ball(0.0), "radius"),
    (lambda: L1Ball(nan), "radius"),
    (lambda: L1Ball(1.0, "rows"), "axis"),
    (lambda: L21Ball(-1.0), "radius"),
    (lambda: WeightedL1Ball([1.0, 0.0]), "weights"),
    (lambda: WeightedL1Ball(np.ones((2, 2))), "weights"),
    (lambda: WeightedL1Ball(1.0, inf), "radius"),
    (lambda: Sphere(0.0), "radius"),
    (lambda: SolidSimplex(-1.0), "total"),
    (lambda: CappedSimplex(0.0), "total"),
    (lambda: CappedSimplex(1.0, 0.0), "cap"),
    (lambda: BoxSection(0.0), "a"),
    (lambda: BoxSection([1.0, nan]), "a"),
    (lambda: BoxSection(1.0, [1.0, 2.0]), "b"),
    (lambda: BoxSection([1.0, 1.0], 3.0), "b"),
    (lambda: BoxSection(1.0, 1.0, 2.0, 1.0), "lo"),
    (lambda: BoxSection([1.0, 1.0], 1.0, 0.0, [1.0, 1.0, 1.0]), "hi"),
    (lambda: Hyperplane([0.0, 0.0]), "normal"),
    (lambda: Hyperplane([1.0, nan]), "normal"),
    (lambda: HalfSpace([1.0], [1.0, 2.0]), "level"),
    (lambda: Slab([1.0], 2.0, 1.0), "lo"),
    (lambda: Slab([1.0], nan, 1.0), "lo"),
    (lambda: Subspace([1.0, 2.0]), "basis"),
    (lambda: GraphOfLinearMap([1.0, 2.0]), "A"),
    (lambda: Polyhedron(np.eye(2), np.ones(3)), "b"),
    (lambda: Polyhedron([[1.0], [-1.0]], [-1.0, -1.0]), "A"),
    (lambda: Polyhedron([[0.0]], [-1.0]), "A"),
    (lambda: Polyhedron([[1.0]], [1.0], C=[[1.0]]), "C"),
    (lambda: Polyhedron([[1.0]], [1.0], [[1.0, 1.0]], [1.0]), "C"),
    (lambda: Polyhedron(-np.eye(2), np.zeros(2), np.ones((1, 2)), [-1.0]), "A"),
    (lambda: Affine(csr_array(np.eye(2)), np.ones(2)), "A"),
    (lambda: AffineOperator(np.eye(2), np.ones(2)), "A"),
    (lambda: AffineOperator(csr_array(np.eye(2)), np.ones(3)), "b"),
    (lambda: AffineOperator(csr_array([[nan, 1.0]]), np.ones(1)), "A"),
    (lambda: AffineOperator(csr_array([[1.0, 1.0], [1.0, 1.0]]), [1.0, 2.0]), "A"),
    (lambda: AffineOperator(csr_array([[1j, 1.0]]), np.ones(1)), "A"),
    (lambda: RowSums([nan]), "sums"),
    (lambda: ColumnSums(np.ones((2, 2))), "sums"),
    (lambda: RowAndColumnSums([1.0, 2.0], [1.0, 1.0]), "rows"),
    (lambda: TransportPolytope([1.0, -1.0], 0.0), "rows"),
    (lambda: TransportPolytope([1.0, 1.0], [3.0]), "rows"),
    (lambda: TransportPolytope(1.0, 0.0), "columns"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_bad_parameters_are_refused(number):
    build, name = REFUSED[number]
    with pytest.raises(InputError) as caught:
        build()
    problem, _, remedy = str(caught.value).partition("; ")
    assert f"`{name}`" in str(caught.value)
    assert problem
    assert len(remedy) >= 8
    assert len(str(caught.value)) <= 200


MISFITS = [
    (Point(np.ones(3)), (2,), "at"),
    (LInfinityBall(1.0, np.ones(3)), (2,), "center"),
    (L1Ball(axis=1), (3,), "axis"),
    (L21Ball(axis=2), (3, 2), "axis"),
    (WeightedL1Ball(np.ones(3)), (2,), "weights"),
    (Sphere(1.0, np.ones(3)), (2,), "center"),
    (CappedSimplex(3.0), (2,), "cap"),
    (BoxSection(1.0, 3.0), (2,), "b"),
    (BoxSection([1.0, 2.0]), (3,), "a"),
    (Hyperplane([1.0, 2.0]), (3,), "normal"),
    (Slab([1.0, 2.0], axis=0), (3, 2), "normal"),
    (Subspace(np.eye(3)), (2,), "basis"),
    (GraphOfLinearMap(np.eye(3)), (3,), "A"),
    (Polyhedron(np.eye(2), np.ones(2)), (3,), "A"),
    (AffineOperator(aslinearoperator(np.eye(2)), np.ones(2)), (3,), "A"),
    (RowSums([1.0, 2.0]), (3, 3), "sums"),
    (ColumnSums([1.0, 2.0]), (3, 3), "sums"),
    (RowAndColumnSums(), (2, 3), "rows"),
    (TransportPolytope([1.0, 1.0], [1.0, 1.0]), (3, 2), "rows"),
]


@pytest.mark.parametrize("number", range(len(MISFITS)))
def test_arrays_that_do_not_fit_are_refused(number):
    term, shape, name = MISFITS[number]
    for method in ("project", "support", "lmo", "distance", "value"):
        if hasattr(term, method):
            with pytest.raises(InputError, match=f"`{name}`"):
                getattr(term, method)(np.ones(shape))


@pytest.mark.parametrize("term", [Birkhoff(), UnitSums()])
def test_square_matrices(term):
    with pytest.raises(InputError, match="square"):
        term.project(np.ones((2, 3)))


def test_a_section_of_an_unbounded_box_has_no_oracle():
    term = BoxSection(1.0, 1.0, 0.0, inf)
    assert not hasattr(term, "lmo")
    assert not hasattr(term, "support")
    assert term.diameter((3,)) == inf


def test_supports_of_flat_sets():
    u = np.array([2.0, 4.0])
    assert Hyperplane([1.0, 2.0], 3.0).support(u) == pytest.approx(6.0)
    assert Hyperplane([1.0, 2.0], 3.0).support(-u) == pytest.approx(-6.0)
    assert HalfSpace([1.0, 2.0], 3.0).support(u) == pytest.approx(6.0)
    assert HalfSpace([1.0, 2.0], 3.0).support(-u) == inf
    assert Slab([1.0, 2.0], -1.0, 3.0).support(-u) == pytest.approx(2.0)
    assert Slab([1.0, 2.0], -1.0, 3.0).support(np.array([1.0, 0.0])) == inf
    assert Box(0.0, 1.0).support(u) == Hypercube().support(u) == 6.0

"""Matrices may be arrays of other libraries, and on a GPU, which is then asked to take part."""

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from tests.backends.searches import MADE, made  # noqa: E402
from tests.kinds import Kind  # noqa: E402
from trisplit import qap  # noqa: E402
from trisplit.errors import InputError  # noqa: E402
from trisplit.qap.gpu import search as search_module  # noqa: E402
from trisplit.qap.gpu.device import device_of  # noqa: E402
from trisplit.qap.instance import Instance  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread", "small_search")


class Far(torch.Tensor):
    """A tensor on a GPU, which NumPy cannot read."""

    device = SimpleNamespace(type="cuda", index=2)

    def cpu(self):
        return self.as_subclass(torch.Tensor).clone()

    def __array__(self, *_, **__):
        raise TypeError("can't convert cuda:2 device type tensor to numpy")

    def numpy(self, *_, **__):
        raise TypeError("can't convert cuda:2 device type tensor to numpy")


def far(M):
    return torch.as_tensor(M).as_subclass(Far)


def from_jax(M):
    return Kind("jax", "float64").xp.asarray(M)


@pytest.mark.parametrize("there", [torch.as_tensor, from_jax, far], ids=["torch", "JAX", "a GPU"])
class TestArrays:
    A, B, C = made(6).A.copy(), made(6).B.copy(), made(6, linear=True).C.copy()

    def test_instance(self, there):
        problem = Instance("there", there(self.A), there(self.B), C=there(self.C))
        assert all(type(M) is np.ndarray for M in (problem.A, problem.B, problem.C))
        assert problem.sha256() == Instance("here", self.A, self.B, C=self.C).sha256()
        assert problem.cost(there(np.arange(6))) == problem.cost(range(6))

    @pytest.mark.parametrize("x0", [np.arange(6)[::-1].copy(), np.full((6, 6), 1 / 6)], ids=["permutation", "point"])
    def test_solve(self, there, x0, gpu):
        res = qap.solve(there(self.A), there(self.B), there(self.C), x0=there(x0), starts=1, rng=0)
        expected = qap.solve(self.A, self.B, self.C, x0=x0, starts=1, rng=0)
        assert res.cost == expected.cost
        assert type(res.permutation) is np.ndarray
        assert res.device == ("stand-in" if there is far else "cpu")

    def test_relax(self, there):
        x0 = np.full((6, 6), 1 / 6) + 0.01 * np.eye(6) - 0.01 / 6
        res = qap.relax(there(self.A), there(self.B), there(self.C), x0=there(x0), max_iter=20)
        assert (res.x == qap.relax(self.A, self.B, self.C, x0=x0, max_iter=20).x).all()

    def test_other_doors(self, there):
        options = {"C": there(self.C), "P0": there(np.full((6, 6), 1 / 6)), "rng": 0, "starts": 1}
        res = qap.quadratic_assignment(there(self.A), there(self.B), options=options)
        assert res.fun == Instance("here", self.A, self.B, C=self.C).cost(res.col_ind)
        bound, expected = (qap.lower_bound(M(self.A), M(self.B), M(self.C)).value for M in (there, np.asarray))
        assert bound == expected

    def test_constraints(self, there):
        mask = np.zeros((6, 6), dtype=bool)
        mask[0, 1] = True
        res = qap.solve(self.A, self.B, fixed=there(np.array([[2, 3]])), forbidden=there(mask), starts=1, rng=0)
        assert res.permutation[2] == 3
        assert res.permutation[0] != 1


def test_a_dtype_that_numpy_does_not_have():
    with pytest.raises(
        InputError, match=r"`A` must convert .*, got Tensor of torch.bfloat16; convert it to float64 first$"
    ):
        qap.solve(torch.eye(3, dtype=torch.bfloat16), np.eye(3), starts=1)


def test_matrices_on_a_gpu_mean_that_one(monkeypatch):
    asked = []
    monkeypatch.setattr(search_module, "gpu", lambda device: asked.append(device) or torch.device("cpu"))
    A, B = made(5).A.copy(), made(5).B.copy()
    for options in ({}, {"device": "cuda"}, {"device": "cuda:1"}):
        qap.solve(A, far(B), starts=1, rng=0, **options)
    assert list(dict.fromkeys(asked)) == ["cuda:2", "cuda", "cuda:1"]


def test_devices_of_arrays():
    jax, cupy = SimpleNamespace(platform="gpu", id=3), SimpleNamespace(id=1)
    assert device_of(np.zeros(2), None, SimpleNamespace(device=jax)) == "cuda:3"
    assert device_of(SimpleNamespace(device=cupy)) == "cuda:1"
    assert device_of(SimpleNamespace(device=SimpleNamespace(type="cuda", index=None))) == "cuda:0"
    assert device_of(SimpleNamespace(device=SimpleNamespace(platform="cpu", id=0)), torch.zeros(1), MADE) is None

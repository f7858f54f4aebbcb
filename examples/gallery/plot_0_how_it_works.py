r"""
How it works, in pictures
=========================

A proximal map, the three lines of the algorithm, and what the certificate says: each in one picture, for a problem with
two variables.
"""

# %%
# A proximal map
# --------------
# :math:`\mathrm{prox}_{\gamma g}(y)` is the point that makes :math:`\gamma g(x) + \frac12 (x - y)^2` small: close to
# :math:`y`, and with a small :math:`g`. For the absolute value it shortens by :math:`\gamma` and ends at exactly zero; for
# an interval it is the nearest point. That is why answers have true zeros, and stay within bounds.
import matplotlib.pyplot as plt
import numpy as np

import trisplit as ts

y = np.linspace(-3, 3, 301)
figure, axis = plt.subplots(figsize=(7.2, 3.4))
axis.plot(y, y, color="0.7", linewidth=1, label="nothing")
axis.plot(y, ts.terms.L1(1.0).prox(y, 1.0), label=r"$g(x) = |x|$, $\gamma = 1$")
axis.plot(
    y, ts.terms.Box(-0.5, 1.5).prox(y, 1.0), label="the interval from -0.5 to 1.5"
)
axis.set(xlabel="y", ylabel="proximal point", title="What two terms make of a number")
axis.legend()
plt.show()

# %%
# The three lines
# ---------------
# The loss is a curved valley that is not convex, the answer must lie in a disc and in a half-plane. In each iteration
# :math:`z` is the projection of :math:`y` onto the disc, :math:`x` that of a gradient step, mirrored at :math:`z`, onto the
# half-plane, and :math:`y` moves by the difference. Where :math:`z` and :math:`x` meet is the answer.


def f(p):
    a, b = p
    value = (b - a**2 / 2) ** 2 + 0.1 * (a - 2) ** 2
    return value, np.array(
        [-2 * a * (b - a**2 / 2) + 0.2 * (a - 2), 2 * (b - a**2 / 2)]
    )


disc, plane = (
    ts.terms.L2Ball(0.8),
    ts.terms.HalfSpace(np.array([1.0, 1.0]), 1.0),
)  # a + b <= 1
problem, iterates = ts.Problem(f, [disc, plane]), []
for made in ts.tos(problem, np.array([-1.2, 1.4]), 0.25):
    iterates.append(made)
    if made.t == 60:
        break
z, x = (np.array([getattr(made, name) for made in iterates]) for name in "zx")

grid = np.linspace(-2, 2, 201)
values = np.array([[f((a, b))[0] for a in grid] for b in grid])
figure, axis = plt.subplots(figsize=(5.6, 4.6))
axis.contour(
    grid,
    grid,
    values,
    levels=np.geomspace(0.02, 12, 14),
    colors="0.75",
    linewidths=0.8,
)
axis.add_patch(plt.Circle((0, 0), 0.8, fill=False, color="C0", linewidth=1.5))
axis.plot([-1, 2], [2, -1], color="C1", linewidth=1.5)
axis.plot(*z.T, "o-", color="C0", markersize=3, linewidth=0.8, label="z, in the disc")
axis.plot(
    *x.T, "s-", color="C1", markersize=3, linewidth=0.8, label="x, below the line"
)
axis.plot(*z[-1], "*", color="black", markersize=13, label="answer")
axis.set(
    xlim=(-1.3, 1.3),
    ylim=(-0.9, 1.5),
    aspect="equal",
    xlabel="first variable",
    ylabel="second variable",
)
axis.set_title("z and x start apart and meet")
axis.grid(False)
axis.legend(loc="upper right", fontsize=8)
plt.show()

# %%
# The certificate
# ---------------
# Every iterate carries a number: to first order, the objective cannot fall by more than that within both sets. It comes from
# the iteration itself and needs nothing but the size of the disc. The exact number, found here by looking at the directions
# to many points of the disc below the line, is never above it.
angles = np.linspace(0, 2 * np.pi, 4001)
points = 0.8 * np.column_stack([np.cos(angles), np.sin(angles)])
points = points[points.sum(axis=1) <= 1]
bounds = [ts.certificates.bound(problem, made) for made in iterates]
exact = [np.max((made.z - points) @ f(made.z)[1]) for made in iterates]
res = ts.minimize(f, np.array([-1.2, 1.4]), [disc, plane], tol=1e-8)
print(res)
assert all(e <= b + 1e-9 for e, b in zip(exact, bounds, strict=True))

figure, axis = plt.subplots(figsize=(7.2, 3.4))
axis.semilogy(range(1, 61), bounds, label="the bound that the iterate carries")
axis.semilogy(range(1, 61), np.maximum(exact, 1e-12), "--", label="the exact number")
axis.set(
    xlabel="iteration",
    ylabel="how far from stationary",
    title="The certificate is an upper bound, and goes to zero",
)
axis.set_ylim(1e-10, 10)
axis.legend()
plt.show()

r"""
Facility layout
===============

Parts between which much flows should lie close together. Put one part at each of :math:`n` places so that flow times
distance, :math:`\sum_{i,j} D_{ij} F_{p(i) p(j)}`, is small: the quadratic assignment problem. Steinberg (1961) asked it
for the backboard of a computer, where the cost is twice the length of the wire; wards of a hospital or machines of a
factory are the same problem.
"""

# %%
# Steinberg's data are one of the instances of QAPLIB that come with ``trisplit``: distances along the streets of a grid
# of 9 by 4 places, and the number of wires between any two of 34 parts; two more parts without wires fill the grid.
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import quadratic_assignment

import trisplit as ts

instance = ts.qap.load("ste36a")
distances, flows = instance.A, instance.B
places = np.array([(k % 9, k // 9) for k in range(36)])
assert np.array_equal(distances, np.abs(places[:, None] - places).sum(axis=-1))

# %%
# ``solve`` relaxes, rounds, and goes on by tabu search. It gets the two matrices, one core, and the cost at which it may
# stop, but no layout.
best = instance.best_known
ts.qap.solve(instance, starts=1)  # compiles, once
begin = perf_counter()
res = ts.qap.solve(distances, flows, starts=10, target=best, workers=1, rng=0)
ours = perf_counter() - begin
first = np.arange(36)  # part k at place k
print(f"cost {instance.cost(first)} before, {res.cost} after; best known {best}")
print(f"{ours:.1f} s")
assert res.cost == best

# %%
# Two certificates come with it. The relaxed problem, which layouts were rounded from, has an exact gap: to first order, no
# move within the doubly stochastic matrices lowers its value by more than that. The lower bound holds for all layouts. It
# leaves more open than there is: that no layout costs less than 9526 is known from long tree searches.
relaxed = res.relaxation
found = relaxed.certificate
print(
    f"relaxed: {found.kind} {found.stationarity:.3f} of {relaxed.fun:.0f}, infeasibility {found.infeasibility:.0e}"
)
print(f"lower bound: {res.lower_bound}, {res.bound_gap:.0%} below the cost")

# %%
# SciPy has two methods: Frank-Wolfe on the same relaxation (FAQ, Vogelstein and others 2015), and swaps of pairs
# (2-opt). Each is called once, and then again from random starts until a second is over.
for method, start in {"faq": {"P0": "randomized"}, "2opt": {}}.items():
    options = {"rng": np.random.default_rng(0)}
    begin = perf_counter()
    costs = [quadratic_assignment(distances, flows, method, options).fun]
    once = perf_counter() - begin
    while perf_counter() - begin < 1.0:
        again = quadratic_assignment(distances, flows, method, {**options, **start})
        costs.append(again.fun)
    seconds = perf_counter() - begin
    print(f"{method}: {costs[0]} in {once:.2f} s")
    print(f"best of {len(costs)} starts: {min(costs)} in {seconds:.1f} s")
    assert res.cost <= min(costs)

# %%
# The wider a line, the more wires it stands for. After, the thick lines are short, and the long ones are thin.
figure, axes = plt.subplots(2, 1, figsize=(7.2, 6.6))
for axis, layout in zip(axes, (first, res.permutation), strict=True):
    wires = flows[np.ix_(layout, layout)]
    for i, j in np.argwhere(np.triu(wires)):
        style = {"color": "C1" if distances[i, j] > 2 else "C0", "alpha": 0.6}
        axis.plot(*places[[i, j]].T, linewidth=0.3 + wires[i, j] / 30, **style)
    for place, part in zip(places, layout, strict=True):
        axis.text(*place, part, ha="center", va="center", fontsize=8, zorder=4)
    axis.scatter(*places.T, 300, color="white", edgecolor="0.4", marker="s", zorder=3)
    far = (wires * distances)[distances > 2].sum() / instance.cost(layout)
    axis.set_xlabel(f"orange: more than two places apart, {far:.0%} of the cost")
    axis.set(aspect="equal", xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
axes[0].set_title(
    f"Before: 34 parts in the order of their numbers, cost {instance.cost(first)}"
)
axes[1].set_title(f"After: cost {res.cost}, which is optimal")
plt.show()

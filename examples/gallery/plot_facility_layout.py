r"""
Facility layout
===============

Parts between which much flows should lie close together. Put one part at each of :math:`n` places so that flow times
distance, :math:`\sum_{i,j} D_{ij} F_{p(i) p(j)}`, is small: the quadratic assignment problem. Steinberg (1961) asked it
for the backboard of a computer, and the answer is the length of the wire; wards of a hospital or machines of a factory
are the same problem.
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
column, row = np.arange(36) % 9, np.arange(36) // 9
streets = np.abs(np.subtract.outer(column, column)) + np.abs(np.subtract.outer(row, row))
assert np.array_equal(distances, streets)

# %%
# ``solve`` relaxes, rounds and goes on by tabu search. Here it gets the matrices, one core, and the cost at which it may
# stop, but no layout.
ts.qap.solve(instance, starts=1)  # compiles, once
begin = perf_counter()
res = ts.qap.solve(distances, flows, target=instance.best_known, starts=10, workers=1, rng=0)
ours = perf_counter() - begin
first = np.arange(36)  # part k at place k
print(f"cost {instance.cost(first)} before, {res.cost} after {ours:.1f} s, best known {instance.best_known}")

# %%
# Two certificates come with it. The relaxed problem, whose solution the first layouts were rounded from, has a gap: no
# small move within the doubly stochastic matrices lowers its value by more than that, to first order. The lower bound
# holds for all layouts. It leaves more open than there is: that 9526 is optimal is known from long tree searches.
stationarity, infeasibility, kind = res.relaxation.certificate
print(f"relaxed: {kind} {stationarity:.1e} of {res.relaxation.fun:.0f}, infeasibility {infeasibility:.1e}")
print(f"no layout costs less than {res.lower_bound}, {res.bound_gap:.0%} below the answer ({res.bound.method})")

# %%
# SciPy has two methods, Frank-Wolfe on the same relaxation (FAQ, Vogelstein and others 2015) and exchanges of pairs
# (2-opt). Once each, and then from random starts for a second, the best of which counts.
assert res.cost == instance.best_known
for method, start in {"faq": {"P0": "randomized"}, "2opt": {}}.items():
    rng = np.random.default_rng(0)
    begin = perf_counter()
    costs = [quadratic_assignment(distances, flows, method, {"rng": rng}).fun]
    once = perf_counter() - begin
    while perf_counter() - begin < 1.0:
        costs.append(quadratic_assignment(distances, flows, method, {"rng": rng, **start}).fun)
    seconds = perf_counter() - begin
    print(f"SciPy {method}: {costs[0]} in {once:.2f} s, best of {len(costs)} starts {min(costs)} in {seconds:.1f} s")
    assert res.cost <= min(costs)

# %%
# The wider a line, the more wires it stands for. After, the thick lines are short, and the long ones are thin.
figure, axes = plt.subplots(2, 1, figsize=(7.2, 6.6))
for axis, layout, name in zip(axes, (first, res.permutation), ("Before", "After"), strict=True):
    wires = flows[np.ix_(layout, layout)]
    for i, j in np.argwhere(np.triu(wires)):
        color = "C1" if distances[i, j] > 2 else "C0"
        axis.plot(column[[i, j]], row[[i, j]], color=color, alpha=0.6, linewidth=0.3 + wires[i, j] / 30)
    axis.scatter(column, row, 300, color="white", edgecolor="0.4", marker="s", zorder=3)
    for place, part in enumerate(layout):
        axis.text(column[place], row[place], part, ha="center", va="center", fontsize=8, zorder=4)
    axis.set(title=f"{name}: cost {instance.cost(layout)}", aspect="equal", xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    long = (wires * distances)[distances > 2].sum() / instance.cost(layout)
    axis.set_xlabel(f"orange: more than two places apart, {long:.0%} of the cost")
plt.show()

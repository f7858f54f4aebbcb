r"""
Graph matching
==============

Two networks of the same people under different names: who is who? It is asked of social networks, of the proteins of two
species, of the neurons of two brains. Match the nodes so that as many edges as possible meet,
:math:`\max_p \sum_{i,j} A_{ij} B_{p(i) p(j)}`. That is a quadratic assignment problem, here with noise: not all edges are
the same in both networks.
"""

# %%
# A network of 40 people with a few hubs, and a copy: some edges are replaced by others, and the nodes are shuffled.
from time import perf_counter

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from scipy.optimize import quadratic_assignment

import trisplit as ts

n = 40


def pair(noise, seed):
    rng = np.random.default_rng(seed)
    A = nx.to_numpy_array(nx.barabasi_albert_graph(n, 5, seed=seed), dtype=int)
    edges = A[np.triu_indices(n, 1)]
    k = round(noise * edges.sum())
    old, new = (
        rng.choice(np.flatnonzero(edges == there), k, replace=False) for there in (1, 0)
    )
    edges[old], edges[new] = 0, 1
    B = np.zeros_like(A)
    B[np.triu_indices(n, 1)] = edges
    order = rng.permutation(n)
    return A, (B + B.T)[np.ix_(order, order)], np.argsort(order)


def meeting(A, B, p):
    return (A * B[np.ix_(p, p)]).sum() // 2


# %%
# ``relax`` goes from the barycentre of the doubly stochastic matrices to a stationary point, which is rounded to a
# permutation. ``solve`` begins like that, and looks for better ones for 0.1 seconds.
middle = np.full((n, n), 1 / n)


def relax(A, B):
    return ts.qap.round_to_permutation(ts.qap.relax(-A, B, split=1, x0=middle).x)


def solve(A, B):
    return ts.qap.solve(-A, B, x0=middle, time_limit=0.1, workers=1, rng=0).permutation


# %%
# FAQ of SciPy (Vogelstein and others 2015) relaxes the same problem, from the same point, by Frank-Wolfe. Restarted at
# random points for 0.1 seconds, the best one counts.
def faq(A, B, **options):
    return quadratic_assignment(A, B, options={"maximize": True, **options}).col_ind


def faq_restarted(A, B):
    begin, rng, found = perf_counter(), np.random.default_rng(0), [faq(A, B)]
    while perf_counter() - begin < 0.1:
        found.append(faq(A, B, P0="randomized", rng=rng))
    return max(found, key=lambda p: meeting(A, B, p))


# %%
# Five levels of noise with three pairs each. The objective is the number of edges that meet.
levels = np.array([0.1, 0.15, 0.2, 0.25, 0.3])
pairs = [pair(noise, seed) for noise in levels for seed in range(3)]
methods = {"solve": solve, "relax": relax, "FAQ, restarted": faq_restarted, "FAQ": faq}
right, met = {}, {}
print(f"the truth: {sum(meeting(*each) for each in pairs)} edges meet")
for name, method in methods.items():
    method(*pairs[0][:2])  # loads compiled code
    begin = perf_counter()
    found = [(A, B, truth, method(A, B)) for A, B, truth in pairs]
    ms = 1e3 * (perf_counter() - begin) / len(pairs)
    met[name] = sum(meeting(A, B, p) for A, B, _, p in found)
    right[name] = np.array([np.mean(p == truth) for _, _, truth, p in found])
    result = f"{met[name]} edges meet, {right[name].mean():.0%} of nodes right"
    print(f"{name}: {result}, {ms:.1f} ms each")
assert met["solve"] >= met["relax"] >= met["FAQ"]

# %%
# The certificate of ``relax`` is the exact gap: to first order, no move within the doubly stochastic matrices lowers the
# objective by more than that; it is signed, and tiny as the infeasibility is. It speaks of a stationary point, not of the
# best one.
A, B, _ = pairs[-1]
print(ts.qap.relax(-A, B, split=1, x0=middle).certificate)

# %%
# A step of Frank-Wolfe goes towards a corner, which decides much at once; the splitting decides gradually. It takes
# milliseconds, too, if a few more, and finds all nodes with up to 20 % of the edges replaced. With more noise, matchings
# as good as the truth are hard to find for all.
figure, axis = plt.subplots()
styles = {"solve": "C0o-", "relax": "C0o--", "FAQ, restarted": "C1s-", "FAQ": "C1s--"}
for name, style in styles.items():
    share = right[name].reshape(5, 3).mean(axis=1)
    axis.plot(100 * levels, 100 * share, style, label=name)
axis.set(xlabel="edges replaced (%)", ylabel="nodes matched right (%)", ylim=(0, 105))
axis.set(xticks=100 * levels, title="Matching two noisy networks of 40 nodes")
figure.legend(loc="outside right center")
plt.show()

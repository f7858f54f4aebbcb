r"""
Data on disk
============

A table that does not fit into memory can stay on disk: a file that NumPy maps is read in blocks, and never held as a
whole. With few features, second derivatives help: an estimated gradient then needs a handful of passes over the file, and
the answer is still certified with the full gradient.
"""

# %%
# A file of 100 MB stands for one that is too large: 160,000 visits to a shop with 80 features, correlated with their
# neighbours, and whether something was bought.
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier

import trisplit as ts

n, d, block = 160_000, 80, 10_000
folder = TemporaryDirectory()
path = Path(folder.name, "visits.npy")

# %%
# It is written block by block, too.
rng = np.random.default_rng(0)
mixing = 0.4 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
truth = np.where(np.arange(d) < 10, rng.uniform(-1, 1, d), 0.0)
table = np.lib.format.open_memmap(path, "w+", dtype=float, shape=(n, d))
bought = np.empty(n)
for k in range(0, n, block):
    rows = rng.standard_normal((block, d)) @ mixing
    table[k : k + block] = rows
    bought[k : k + block] = np.sign(rows @ truth + rng.logistic(size=block))
table.flush()

# %%
# Logistic regression with an :math:`\ell_1` norm, and with a wide box: a bounded set makes the certificate an exact gap.
# ``SVRG2`` (Gower, Le Roux and Bach 2018) takes a quadratic model of the loss now and then, and corrects it by batches.
# What stays in memory is a block of the file, and a few numbers for each sample.
A, weight = np.load(path, mmap_mode="r"), 0.005
f = ts.losses.Logistic(A, bought)
terms = [ts.terms.L1(weight), ts.terms.Box(-2, 2)]
options = {"gradient": "svrg2", "rng": 0}

# %%
# The loss is convex, so the gap bounds how far the objective is above the smallest one. It is computed from all samples,
# at the points where convergence is checked.
reference = ts.minimize(f, np.zeros(d), terms, tol=1e-10, **options)  # and warms up
begin = perf_counter()
res = ts.minimize(f, np.zeros(d), terms, tol=1e-6, **options)
ours = perf_counter() - begin
print(f"trisplit: objective {res.fun:.8f}, {ours:.1f} s")
print(f"{res.certificate.kind} {res.certificate.stationarity:.1e}")
print(f"{res.trace['samples'][-1] / n:.1f} passes, and {len(res.trace)} to look")

# %%
# scikit-learn has SAGA, which reads the same file. It has no box; its answer lies within. With a smaller ``tol`` it would
# go further, and take longer.
objective = lambda x: f.value(x) + weight * np.abs(x).sum()
model = {"fit_intercept": False, "random_state": 0}
saga = LogisticRegression(
    l1_ratio=1, C=1 / (n * weight), solver="saga", tol=1e-2, **model
)
saga.fit(A[:block], bought[:block])  # warms up
begin = perf_counter()
saga.fit(A, bought)
saga_seconds, saga_objective = perf_counter() - begin, objective(saga.coef_[0])
print(f"SAGA: objective {saga_objective:.8f}, {saga_seconds:.1f} s")
assert res.fun <= saga_objective + 1e-6
assert np.abs(saga.coef_).max() < 2

# %%
# And it has stochastic gradient descent, which is handed one block after another, in five passes.
sgd = SGDClassifier("log_loss", penalty="l1", alpha=weight, average=True, **model)
seconds, objectives = [], []
for _ in range(5):
    begin = perf_counter()
    for k in range(0, n, block):
        sgd.partial_fit(A[k : k + block], bought[k : k + block], classes=[-1, 1])
    seconds.append(perf_counter() - begin)
    objectives.append(objective(sgd.coef_[0]))
print(f"SGD: objective {objectives[-1]:.8f}, {sum(seconds):.1f} s")
assert res.fun <= objectives[-1]
folder.cleanup()

# %%
# Each new model brings more digits than the one before. SGD is quick at first, and its averages then creep. The times
# leave out what it takes to look.
smallest = reference.fun - reference.certificate.stationarity  # for certain
figure, axis = plt.subplots()
axis.plot(res.trace["seconds"], res.trace["objective"] - smallest, "o-", label="SVRG2")
axis.plot(saga_seconds, saga_objective - smallest, "s", label="SAGA of scikit-learn")
sgd_above = np.subtract(objectives, smallest)
axis.plot(np.cumsum(seconds), sgd_above, "^-", label="SGD of scikit-learn")
axis.set(xlabel="seconds", ylabel="objective above the smallest", yscale="log")
axis.set_title("A model of 160,000 samples from a file of 100 MB")
axis.legend()
plt.show()

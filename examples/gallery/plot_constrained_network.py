r"""
A small network under constraints, without PyTorch
==================================================

A network is to read handwritten digits with hidden units that look at a few pixels only, and with outputs that are
bounded. Such a network is cheap to evaluate, and one can see what it does. Each parameter gets its own term, and the
proximal maps keep zeros and bounds exactly during training.
"""

# %%
# The digits of scikit-learn, 8 by 8 pixels. ``MLP`` is the loss of a network with one hidden layer and its gradient,
# by hand: outputs are :math:`V \tanh(W a + c) + e` for an image :math:`a`. All parameters are one vector, and
# ``parameters`` knows where each of them lies.
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import trisplit as ts

pixels, labels = load_digits(return_X_y=True)
A, A_test, b, b_test = train_test_split(
    pixels / 16, labels, random_state=0, stratify=labels
)
f = ts.losses.MLP(A, b, hidden=32)
layout = f.parameters

# %%
# An L1 norm for the first layer, a ball for each row of the second. Single precision is enough, and the data
# follow. The certificate is a residual, the norm of an element of the subdifferential, with the gradient over all
# training data.
weight, radius = 5e-4, 5.0
term = layout.terms({"W": ts.terms.L1(weight), "V": ts.terms.L2Ball(radius, axis=1)})
rng = np.random.default_rng(0)
params = {
    "W": rng.normal(0, 0.25, (32, 64)),
    "c": np.zeros(32),
    "V": rng.normal(0, 0.25, (10, 32)),
    "e": np.zeros(10),
}
start = layout.flatten(params).astype(np.float32)
ts.minimize(f, start, term, max_iter=3)  # compiles, once
begin = perf_counter()
res = ts.minimize(f, start, term, tol=3e-3)
ours = perf_counter() - begin
print(
    f"{res.certificate.kind} {res.certificate.stationarity:.1e} after {res.nit} iterations, success: {res.success}"
)

# %%
# The same network without constraints, by scikit-learn. Then what is left of it with as few weights in the first
# layer as above, if only the largest are kept, without further training.
begin = perf_counter()
network = MLPClassifier(32, activation="tanh", max_iter=1000, random_state=0).fit(A, b)
theirs = perf_counter() - begin
(W, V), (c, e) = network.coefs_, network.intercepts_
peer, found = {"W": W.T, "c": c, "V": V.T, "e": e}, layout.unflatten(res.x)
zeros = np.mean(found["W"] == 0)
cut = peer | {"W": np.where(abs(W.T) > np.quantile(abs(W), zeros), W.T, 0.0)}

# %%
# All three lie in the set of the second layer, so that their objectives can be compared, but scikit-learn minimises
# the first part only. Networks have many stationary points: the certificate does not say that there is no better
# one.
objectives, correct = [], []
for name, p, seconds in (
    ("trisplit", found, ours),
    ("scikit-learn", peer, theirs),
    ("its largest weights", cut, theirs),
):
    outputs = np.tanh(A_test @ p["W"].T + p["c"]) @ p["V"].T + p["e"]
    correct.append(np.mean(outputs.argmax(axis=1) == b_test))
    objectives.append(f.value(layout.flatten(p)) + weight * abs(p["W"]).sum())
    print(
        f"{name:19s}: objective {objectives[-1]:.3f}, test accuracy {correct[-1]:.1%} in {seconds:.1f} s"
    )
    print(
        f"{'':19s}  {np.mean(p['W'] == 0):.0%} zeros, longest row of V {np.linalg.norm(p['V'], axis=1).max():.2f}"
    )
assert objectives[0] == min(objectives)
assert correct[0] > correct[2]

# %%
# A quarter of the weights of the first layer is enough to read nearly as many test digits. The hidden units as images
# of 8 by 8 pixels: free ones look everywhere, those with the L1 norm at a few strokes.
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.4))
titles = (
    f"free: {correct[1]:.1%} correct",
    f"with L1 norm: {correct[0]:.1%} correct, {zeros:.0%} zeros",
)
for axis, W, title in zip(axes, (peer["W"], found["W"]), titles, strict=True):
    W = W / abs(W).max(axis=1, keepdims=True)
    units = np.pad(
        W.reshape(4, 8, 8, 8),
        ((0, 0), (0, 0), (0, 1), (0, 1)),
        constant_values=np.nan,
    )
    image = axis.imshow(
        units.transpose(0, 2, 1, 3).reshape(36, 72)[:-1, :-1],
        cmap="RdBu_r",
        vmin=-1,
        vmax=1,
    )
    axis.set(xticks=[], yticks=[], title=title, facecolor="0.5")
    axis.grid(False)
figure.colorbar(image, ax=axes, label="weight / largest", shrink=0.8)
plt.show()

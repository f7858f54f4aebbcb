"""Train a network with constraints on handwritten digits, and draw what its layers become.

    python examples/digits_network.py               # into docs/figures/digits_network.png
    python examples/digits_network.py my.png

Needs PyTorch, scikit-learn and matplotlib: pip install 'trisplit[torch,plot]' scikit-learn.

The weights of the first layer carry an L1 norm, and most of them end at zero: each unit looks at a few pixels. Every
row of the second layer is a point of the simplex, so that its units are weighted averages of those of the first. The
last layer is free. The proximal maps of `ts.torch.TOS` keep all that exactly while minibatches go by, and the
certificate, with the gradient on all training data, says how near the weights are to a stationary point.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import trisplit as ts

if TYPE_CHECKING:
    import torch
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNITS, BATCH, EPOCHS, SEED = 128, 32, 30, 0
TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "digits_network.png"


class Epoch(NamedTuple):
    """How far training is: accuracy on the test data, share of zeros in the first layer, and the certificate."""

    accuracy: float
    zeros: float
    certificate: ts.Certificate


def digits() -> "list[torch.Tensor]":
    """Return pixels and labels of 1347 digits to train with and of 450 others."""
    import torch
    from sklearn.datasets import load_digits

    pixels, labels = (torch.asarray(values) for values in load_digits(return_X_y=True))
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(SEED))
    pixels, labels = pixels[order].float() / 16, labels[order]
    return [pixels[:1347], labels[:1347], pixels[1347:], labels[1347:]]


def build(epochs: int) -> "tuple[torch.nn.Sequential, ts.torch.TOS, torch.optim.lr_scheduler.LRScheduler]":
    """Return the network, its optimiser and the schedule of the steps."""
    import torch
    from torch.nn import Linear, ReLU, Sequential

    torch.manual_seed(SEED)
    sparse, averages, free = Linear(64, UNITS), Linear(UNITS, UNITS, bias=False), Linear(UNITS, 10)
    optimizer = ts.torch.TOS(
        [
            {"params": [sparse.weight], "terms": ts.terms.L1(3e-4)},
            {"params": [averages.weight], "terms": ts.terms.Simplex(axis=1), "lr": 2.0},
            {"params": [sparse.bias, free.weight, free.bias]},
        ],
        lr=1.0,
        momentum=0.9,
    )
    optimizer.start()  # the second layer is feasible from the beginning
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    return Sequential(sparse, ReLU(), averages, free), optimizer, schedule


def train(epochs: int = EPOCHS, checkpoint: Path | None = None) -> "tuple[torch.nn.Sequential, list[Epoch]]":
    """Return the trained network and its history; with `checkpoint`, go on where a killed run has stopped."""
    import torch
    from torch.nn.functional import cross_entropy

    pixels, labels, unseen, answers = digits()
    network, optimizer, schedule = build(epochs)
    history: list[Epoch] = []
    first = 0
    if checkpoint is not None and checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        first = saved["epochs"]
    for epoch in range(first, epochs):
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(epoch))
        for rows in order.split(BATCH):
            optimizer.zero_grad()
            cross_entropy(network(pixels[rows]), labels[rows]).backward()
            optimizer.step()
        schedule.step()
        certificate = optimizer.certificate(lambda: cross_entropy(network(pixels), labels).backward())
        accuracy = (network(unseen).argmax(1) == answers).double().mean().item()
        history.append(Epoch(accuracy, (network[0].weight == 0).double().mean().item(), certificate))
        if checkpoint is not None:
            parts = {"network": network, "optimizer": optimizer, "schedule": schedule}
            whole = {name: part.state_dict() for name, part in parts.items()} | {"epochs": epoch + 1}
            torch.save(whole, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").replace(checkpoint)  # a kill while writing leaves the file before
    return network, history


def draw(network: "torch.nn.Sequential", history: list[Epoch]) -> "Figure":
    """Draw the units of the first layer that count most, the weights of the second, and the history."""
    import matplotlib as mpl
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure

    sparse, averages = (network[i].weight.detach().numpy() for i in (0, 2))
    most = (averages.sum(axis=0) * (sparse**2).sum(axis=1) ** 0.5).argsort()[::-1]
    last = history[-1]
    with mpl.rc_context({"font.size": 8, "font.family": "sans-serif", "text.color": "#333333"}):
        figure = Figure(figsize=(7.4, 2.9), layout="constrained")
        left, middle, right = figure.subfigures(1, 3, width_ratios=(1, 1, 1.25))
        left.suptitle(f"first layer: {100 * last.zeros:.0f} % zeros", fontsize=9, fontweight="bold")
        for axis, row in zip(left.subplots(4, 4).ravel(), sparse[most], strict=False):
            limit = float(abs(row).max())
            axis.imshow(row.reshape(8, 8), cmap="RdBu", vmin=-limit, vmax=limit, interpolation="nearest")
            plain(axis)
        middle.suptitle("second layer: averages", fontsize=9, fontweight="bold")
        axis = middle.subplots()
        axis.imshow(averages[:, most], cmap="magma_r", norm=PowerNorm(0.5, 0.0, 1.0), interpolation="nearest")
        plain(axis)
        right.suptitle(f"{100 * last.accuracy:.1f} % right on test data", fontsize=9, fontweight="bold")
        upper, lower = right.subplots(2, 1, sharex=True)
        epochs = range(1, len(history) + 1)
        upper.plot(epochs, [100 * (1 - each.accuracy) for each in history], color="#7a2d73")
        lower.plot(epochs, [each.certificate.stationarity for each in history], color="#7a2d73")
        upper.set(ylim=(0, 30), ylabel="wrong, %")
        lower.set(yscale="log", ylabel="stationarity", xlabel="epoch")
        for axis in (upper, lower):
            axis.grid(color="#dddddd", linewidth=0.6)
            axis.spines[["top", "right"]].set_visible(False)
    return figure


def plain(axis: "Axes") -> None:
    """Leave out what a picture of a matrix does not need."""
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set(color="#bbbbbb", linewidth=0.6)


def main(target: str | Path = TARGET) -> None:
    """Train the network and draw it into a file."""
    network, history = train()
    draw(network, history).savefig(target, dpi=150, metadata={"Software": None})  # the same file at every run
    last = history[-1]
    print(f"{100 * last.accuracy:.1f} % right on test data, {100 * last.zeros:.0f} % zeros in the first layer")
    print(f"{target} is written")


if __name__ == "__main__":
    main(*sys.argv[1:])

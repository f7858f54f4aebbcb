"""Three operator splitting, [YMS21] Algorithm 1, as an optimiser of PyTorch.

For every parameter of a network, f being the loss and g, h the terms of its group,

    z = prox_{gamma g}(y),  u = gradient at z,  x = prox_{gamma h}(2 z - y - gamma u),  y = y - z + x,

where gamma is the learning rate. The parameter holds z while a network is evaluated, so its `.grad` is u. What is kept
of y is s = (y - z) / gamma, a subgradient of g at z: then y = z + gamma s.

When a scheduler changes gamma to gamma', z + gamma' s is z + (gamma' / gamma) (y - z), the rule of `ts.tos`.

[YMS21] Yurtsever, Mangalick, Sra (2021), Three Operator Splitting with a Nonconvex Loss Function.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import cast

import torch  # pyright: ignore[reportMissingImports]

from trisplit.arrays import Array
from trisplit.errors import InputError
from trisplit.problems.problem import Term, is_indicator
from trisplit.result import Certificate
from trisplit.run.checkpoint import describe
from trisplit.terms import Zero
from trisplit.torch.certificates import Look, domain, gradients, iteration_at, last_look, look, nearest, together
from trisplit.torch.groups import as_momentum, as_pair, as_step, check_group

Parameters = Iterable[torch.Tensor] | Iterable[dict] | Iterable[tuple[str, torch.Tensor]]


class TOS(torch.optim.Optimizer):
    """Minimise f(weights) + g(weights) + h(weights), f being the loss of a network.

    x = prox_{gamma h}(2 z - y - gamma u),  y = y - z + x,  z = prox_{gamma g}(y): the weights are z, u is their
    gradient, gamma is `lr`. After every step z lies in the domain of g up to rounding, and x in that of h; ||z - x||
    goes to zero. With one term this is the proximal gradient method, without terms gradient descent.

    The first step starts at the weights as they are, y = z. To start at z = prox_{gamma g}(weights), as `ts.tos` does,
    call `start()` before the first gradient.

    Parameters
    ----------
    params : iterable
        Parameters, named parameters, or groups of them: dictionaries with "params" and, where a group has its own,
        "terms", "lr", "momentum" and "maximize".
    terms : a term, a pair (g, h), or None
        What every parameter has for g and h, each for itself; a single term is g.
    lr : float
        gamma; 1 / L is safe where L is the smoothness constant of f.
    momentum : float
        mu in [0, 1): u is the average mu u + (1 - mu) gradient, which starts at the first gradient. It steadies the
        gradients of minibatches; the proximal maps stay exact.
    maximize : bool
        Maximise f, and minimise g and h.

    References
    ----------
    Yurtsever, Mangalick, Sra (2021), Three Operator Splitting with a Nonconvex Loss Function, Algorithm 1. Yang, Yuan,
    Chatzimichailidis, van Sloun, Lei, Chatzinotas (2020), ProxSGD: Training structured neural networks under
    regularization and constraints, for the average of gradients before a proximal map.

    Examples
    --------
    Weights that are small in number and lie in a box:

    >>> import torch, trisplit as ts
    >>> w = torch.nn.Parameter(torch.zeros(3))
    >>> optimizer = ts.torch.TOS([w], terms=(ts.terms.Box(0, 1), ts.terms.L1(0.5)), lr=0.5)
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - torch.tensor([3.0, 0.75, -1.0])) ** 2).sum() / 2
    ...     loss.backward()
    ...     return loss
    >>> for _ in range(100):
    ...     loss = optimizer.step(closure)
    >>> w.detach()
    tensor([1.0000, 0.2500, 0.0000])
    >>> optimizer.certificate(closure).stationarity < 1e-5
    True
    """

    def __init__(
        self,
        params: Parameters,
        terms: Term | Sequence[Term] | None = None,
        lr: float = 0.01,
        *,
        momentum: float = 0.0,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": as_step(lr),
            "terms": as_pair(terms),
            "momentum": as_momentum(momentum),
            "maximize": bool(maximize),
        }
        super().__init__(params, defaults)  # pyright: ignore[reportArgumentType]

    def add_param_group(self, param_group: dict) -> None:
        """Add a group of parameters; one that cannot work is refused and not kept."""
        super().add_param_group(param_group)
        try:
            check_group(self.param_groups[-1])
        except Exception:
            self.param_groups.pop()
            raise

    @torch.no_grad()
    def step(self, closure: Callable[[], torch.Tensor] | None = None) -> "torch.Tensor | None":  # pyright: ignore
        """Do one iteration for all parameters that have a gradient, and return what `closure` returns.

        Where `lr` is 0, nothing moves. Nothing is read from a GPU, but for terms that compute on the host.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            gamma = as_step(group["lr"])
            g, h = as_pair(group["terms"])
            for p in group["params"] if gamma else ():
                if p.grad is not None:
                    self._iterate(p, self._estimate(p, group), g, h, gamma)
        return loss

    def _estimate(self, p: torch.Tensor, group: dict) -> torch.Tensor:
        """Return u: the gradient, or the average of it and those before."""
        gradient, mu = cast(torch.Tensor, p.grad), group["momentum"]
        if gradient.layout != torch.strided:
            raise InputError(f"gradients must be dense, got {gradient.layout}; use `sparse=False` in that layer")
        u = -gradient if group["maximize"] else gradient
        if mu:
            state = self.state[p]
            # A new tensor, never changed: the saved state of somebody else may hold the old one.
            state["gradient"] = u = state["gradient"].lerp(u, 1 - mu) if "gradient" in state else u.clone()
        return u

    def _iterate(self, p: torch.Tensor, u: torch.Tensor, g: Term, h: Term, gamma: float) -> None:
        """Move one parameter from z to the next z."""
        state = self.state[p]
        z, s = p.detach(), 0.0 if isinstance(g, Zero) else state.get("subgradient", 0.0)
        made = iteration_at(z, s, u, h, gamma)
        state["gamma"], state["move"] = gamma, torch.linalg.vector_norm(made.d)  # pyright: ignore[reportArgumentType]
        self._put(p, made.after.y, g, gamma)  # line 2 of the next iteration

    def _put(self, p: torch.Tensor, y: torch.Tensor, g: Term, gamma: float) -> None:
        """Let the parameter be z = prox_{gamma g}(y), and keep (y - z) / gamma."""
        z = prox(g, y, gamma)
        if not isinstance(g, Zero):
            self.state[p]["subgradient"] = (y - z) / gamma
        p.copy_(z)

    @torch.no_grad()
    def start(self) -> None:
        """Start, or start again: y are the weights as they are now, and they become z = prox_{gamma g}(y).

        Call it before the first gradient, where weights must be feasible from the beginning. Without it the first
        iteration has y = z.
        """
        for group in self.param_groups:
            gamma, (g, _) = as_step(group["lr"]), as_pair(group["terms"])
            if not gamma:
                raise InputError("`lr` is 0 and no step can start with it; call `start` before the scheduler is made")
            for p in group["params"]:
                self.state[p].clear()
                self.state[p]["gamma"] = gamma
                self._put(p, p.detach().clone(), g, gamma)

    @torch.no_grad()
    def project(self) -> None:
        """Move the weights to the nearest point of both domains.

        z always lies in the domain of g, and near that of h; this takes the last bit of the way, at the end of
        training. With two sets it solves a small problem for each parameter.
        """
        for group in self.param_groups:
            g, h = as_pair(group["terms"])
            for p in group["params"]:
                p.copy_(nearest(p.detach(), (g, h)))
                if domain(h) is None:
                    continue
                # The weights have moved, and the old subgradient is none there; 0 is one at every point of a set.
                self.state[p].pop("subgradient", None)
                if is_indicator(g):
                    self.state[p]["subgradient"] = torch.zeros_like(p)

    def certificate(self, closure: Callable[[], torch.Tensor] | None = None) -> Certificate:
        """Return how good the weights are, all of them together.

        The kind is "gap" or "bound" if it is so for every parameter, and the stationarity their sum. Else it is
        "residual", and stationarity is the norm of an element of u + dg(z) + dh(x) over all parameters. The GPU is
        waited for.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss on all data and calls `backward`, for the gradient at the weights as they are now;
            gradients that are in the parameters stay there. Without it the residual is that of the last step, with the
            gradient that this step has used, be it of a minibatch or an average.

        Returns
        -------
        Certificate
        """
        return together(self._looks(closure))

    def certificates(self, closure: Callable[[], torch.Tensor] | None = None) -> list[Certificate | None]:
        """Return a certificate for each parameter, in the order of the groups, each of the best kind that is known.

        `closure` is as in `certificate`. A parameter without a gradient has None.
        """
        return [None if each is None else each.certificate() for each in self._looks(closure)]

    @torch.no_grad()
    def _looks(self, closure: Callable[[], torch.Tensor] | None) -> list[Look | None]:
        grouped = [(p, group) for group in self.param_groups for p in group["params"]]
        if closure is None:
            return [last_look(p, as_pair(group["terms"])[1], self.state.get(p)) for p, group in grouped]
        us = gradients([p for p, _ in grouped], closure)
        return [
            None if u is None else look(p, -u if group["maximize"] else u, group, self.state.get(p, {}))
            for (p, group), u in zip(grouped, us, strict=True)
        ]

    def state_dict(self) -> dict:
        """Return the state for `torch.save`; of the terms a description, so that `weights_only=True` can load it."""
        packed = super().state_dict()
        for group in packed["param_groups"]:
            group["terms"] = describe(as_pair(group["terms"]))
        return packed

    def load_state_dict(self, state_dict: dict) -> None:
        """Load a state that belongs to the same terms; the next steps are those of the saved optimiser, bit by bit."""
        own = [as_pair(group["terms"]) for group in self.param_groups]
        saved = state_dict["param_groups"]
        for i, (pair, group) in enumerate(zip(own, saved, strict=False)):
            if group.get("terms") != describe(pair):
                remedy = "give the same ones; they can be changed in `param_groups` afterwards"
                raise InputError(f"the state belongs to other terms of group {i}, {group.get('terms')}; {remedy}")
        groups = [{**group, "terms": None} for group in saved]
        super().load_state_dict({**state_dict, "param_groups": groups})
        for pair, group in zip(own, self.param_groups, strict=True):
            group["terms"] = pair


def prox(term: Term, v: torch.Tensor, gamma: float) -> torch.Tensor:
    """Return the proximal point of a tensor, which the terms take for an array like any other."""
    return cast(torch.Tensor, term.prox(cast(Array, v), gamma))

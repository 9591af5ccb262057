"""The optimizers of the reference: torch's own, and LARS, LAMB and SGD with the rate inside by their equations.

LARS (You et al., 2017, Algorithm 1), LAMB (You et al., 2020, Algorithm 2), SGD as in Caffe (Jia et al., 2014). One
tensor at a time, so that each line is a line of the paper.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tests.testing.trainers.differential.nets import SoftSteps

Groups = list[dict[str, Any]]
NORMALIZATIONS = (
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.InstanceNorm1d),
    *(nn.LayerNorm, nn.GroupNorm, nn.RMSNorm),
)


def reference_optimizer(choice: dict[str, Any], net: nn.Module) -> torch.optim.Optimizer:
    """Return the optimizer of the spec's field `optimizer`; its rate is set before each step."""
    kind: str = choice["kind"]
    decay, epsilon = choice.get("weight_decay", 0.0), choice.get("epsilon", 0.0)  # RMSprop's are options
    groups = _groups(net, choice.get("skip") or choice["no_weight_decay"], is_layered="skip" in choice)
    betas = (choice.get("beta1", 0.0), choice.get("beta2", 0.0))
    if kind == "sgd" and choice["form"] == "rate_inside":
        return ByEquation(groups, rate_inside, weight_decay=decay, momentum=choice["momentum"])
    if kind == "sgd":
        return torch.optim.SGD(groups, 0.0, choice["momentum"], 0, decay, nesterov=choice["nesterov"])
    if kind == "lars":
        names = ("momentum", "trust_coefficient", "epsilon", "form")
        return ByEquation(groups, lars, weight_decay=decay, **{name: choice[name] for name in names})
    if kind == "lamb":
        return ByEquation(groups, lamb, weight_decay=decay, epsilon=epsilon, betas=betas)
    if kind in ("adam", "adamw"):
        of_torch = torch.optim.Adam if kind == "adam" else torch.optim.AdamW
        return of_torch(groups, 0.0, betas, epsilon, decay)
    own = torch.optim.RMSprop if choice["function"].startswith("torch") else SoftSteps
    return own(groups, **choice["options"])


def _groups(net: nn.Module, exempt: str, *, is_layered: bool) -> Groups:
    """Return the parameters with weight decay, and those without, which also have no rate of their own layer."""
    without: dict[bool, list[nn.Parameter]] = {False: [], True: []}
    seen: set[int] = set()
    for module in net.modules():
        for name, p in module.named_parameters(recurse=False):
            if id(p) in seen:
                continue
            seen.add(id(p))
            is_bias_or_norm = name.split(".")[-1] in _BIASES or isinstance(module, NORMALIZATIONS)
            is_exempt = {"none": False, "bias_and_norm": is_bias_or_norm, "one_dimensional": p.dim() < 2}[exempt]
            without[is_exempt].append(p)
    plain = {"weight_decay": 0.0} | ({"is_plain": True} if is_layered else {})
    return [group for group in ({"params": without[False]}, {"params": without[True], **plain}) if group["params"]]


_BIASES = {"bias", "in_proj_bias", "bias_ih_l0", "bias_hh_l0"}
Equation = Callable[[Tensor, Tensor, dict[str, Any], dict[str, Any]], None]


class ByEquation(torch.optim.Optimizer):
    """Applies an equation to each parameter that has a gradient."""

    def __init__(self, groups: Groups, equation: Equation, **numbers: Any) -> None:
        super().__init__(groups, {"lr": 0.0, "is_plain": False, **numbers})
        self.equation = equation

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for w in group["params"]:
                if w.grad is not None:
                    self.equation(w, w.grad, group, self.state[w])


def rate_inside(w: Tensor, g: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
    """v = m v + r (g + b w), w = w - v."""
    v = group["momentum"] * state.get("v", torch.zeros_like(w)) + group["lr"] * (g + group["weight_decay"] * w)
    state["v"] = v
    w.sub_(v)


def lars(w: Tensor, g: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
    """v = m v + r lam (g + b w), w = w - v, with lam = eta |w| / (|g| + b |w| + epsilon), or as LARC."""
    rate, decay = group["lr"], group["weight_decay"]
    w_norm, g_norm = float(_wide(w).norm()), float(_wide(g).norm())
    if not group["is_plain"]:
        below = g_norm + group["epsilon"] + (decay * w_norm if group["form"] == "lars" else 0.0)
        lam = group["trust_coefficient"] * w_norm / below if w_norm > 0 and g_norm > 0 else 1.0
        rate = min(rate, lam) if group["form"] == "larc_clip" else rate * lam
    v = group["momentum"] * state.get("v", torch.zeros_like(w)) + rate * (g + decay * w)
    state["v"] = v
    w.sub_(v)


def lamb(w: Tensor, g: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
    """Adam's direction u plus b w, with the rate r |w| / |u|."""
    (b1, b2), t = group["betas"], state.get("t", 0) + 1
    m = b1 * state.get("m", torch.zeros_like(w)) + (1 - b1) * g
    v = b2 * state.get("v", torch.zeros_like(w)) + (1 - b2) * g**2
    state.update(t=t, m=m, v=v)
    u = (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + group["epsilon"]) + group["weight_decay"] * w
    w_norm, u_norm = float(_wide(w).norm()), float(_wide(u).norm())
    is_adapted = not group["is_plain"] and w_norm > 0 and u_norm > 0
    w.sub_(group["lr"] * (w_norm / u_norm if is_adapted else 1.0) * u)


def _wide(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))

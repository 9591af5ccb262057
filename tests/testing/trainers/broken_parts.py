"""A user's parts whose numbers are not finite at a chosen place, and optimizers with a state of many types."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

CLASSES = 4


class Images:
    """Images (1, 8, 8) with a bright row, which is the class; the pixels of sample `nan_at` are not finite."""

    def __init__(self, samples: int, nan_at: int | None = None) -> None:
        self.samples, self.nan_at = samples, nan_at

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        image = torch.randn(1, 8, 8)
        image[:, number % CLASSES] += 3
        return image * math.nan if number == self.nan_at else image, number % CLASSES


def images(samples: int, heldout: int, nan_at: int | None = None, heldout_nan_at: int | None = None) -> Any:
    """Return a training and a held-out set."""
    return Images(samples, nan_at), Images(heldout, heldout_nan_at)


class BrokenNet(nn.Module):
    """A net whose gradient of `shift` is NaN in the pass number `at` of training, while its loss stays finite.

    Afterwards the weights have a NaN that no output shows.
    """

    def __init__(self, at: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, CLASSES))
        self.shift = nn.Parameter(torch.zeros(CLASSES))
        self.at = at
        self.register_buffer("passes", torch.tensor(0))
        self.register_buffer("mask", torch.tensor([-math.inf, 0.0]))  # as of attention: on purpose not finite
        self.passes: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        z: Tensor = self.layers(x)
        if self.training:
            self.passes += 1
            is_broken = self.passes == self.at
            # the branch is 0, and its derivative is 0 times the infinite slope of the root at 0
            z = z + (0 * torch.sqrt(self.shift * 0) if bool(is_broken) else torch.where(is_broken, self.shift, 0))
        return z


def broken_net(channels: int, classes: int, at: int = 0) -> nn.Module:
    """Return a net that breaks in a pass, or never."""
    return BrokenNet(at)


def plain_net(channels: int, classes: int, sixteen_bits: bool = False) -> nn.Module:
    """Return a net of two layers, with weights of 16 bits if asked, else with batch normalization."""
    norm = nn.Identity() if sixteen_bits else nn.BatchNorm1d(16)
    net = nn.Sequential(nn.Flatten(), nn.Linear(channels * 64, 16), norm, nn.ReLU(), nn.Linear(16, classes))
    return SixteenBits(net) if sixteen_bits else net


class SixteenBits(nn.Module):
    """A net with weights of 16 bits for inputs and outputs of 32."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net.bfloat16()

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs as float32."""
        output: Tensor = self.net(x.bfloat16())
        return output.float()


class WideMomentum(torch.optim.Optimizer):
    """Momentum in float32 for weights of any type, with a state of many types, some of them shared."""

    def __init__(self, params: Any, *, momentum: float = 0.9) -> None:
        super().__init__(params, {"lr": 0.0, "momentum": momentum, "form": "heavy ball", "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every parameter; the rate depends on the count and the text in the state."""
        params = [p for group in self.param_groups for p in group["params"]]
        if not self.state:
            count = torch.zeros((), dtype=torch.int64)
            for p in params:
                wide = torch.zeros_like(p, dtype=torch.float32)
                self.state[p] = {"v": wide, "count": count, "kind": "wide", "last": (0.0, [wide.clone()])}
        self.state[params[0]]["count"] += 1  # the count of all
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                assert state["kind"] == "wide"
                assert state["count"].dtype is torch.int64
                state["v"].mul_(group["momentum"]).add_(p.grad.float()).add_(state["last"][1][0], alpha=1e-3)
                state["last"] = (group["lr"], [state["v"] / 3])
                p.copy_(p.float() - group["lr"] / int(state["count"]) ** 0.5 * state["v"])


class Doubled(WideMomentum):
    """An optimizer with a state dict of its own, which it gives to torch only in part."""

    def state_dict(self) -> dict[str, Any]:
        """Return torch's state dict within another."""
        return {"inner": super().state_dict(), "extra": [1.0, "two"]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        assert state_dict["extra"] == [1.0, "two"]
        super().load_state_dict(state_dict["inner"])


class Unstorable(torch.optim.SGD):
    """SGD with a value of NumPy in its groups at once, or in its state after a number of steps."""

    def __init__(self, params: Any, *, after: int = 0) -> None:
        super().__init__(params, lr=0.1)
        self.remaining = after
        if not after:
            self.param_groups[0]["decay"] = np.float64(0.5)

    def step(self, closure: Any = None) -> Any:
        """Step as SGD does."""
        self.remaining -= 1
        if self.remaining == 0:
            p = self.param_groups[0]["params"][0]
            self.state[p]["decay"] = np.float64(0.5)
        return super().step(closure)


def broken_metric(worst: int = 2) -> Callable[[Tensor, Tensor], float]:
    """Return a metric that is NaN for samples of one class."""
    return lambda output, target: math.nan if worst in target.tolist() else 1.0

"""The parts of the random nets: modules from features x_BF to features of the same shape.

A part in which the pass or the raw input counts gets them by its attributes; everything else is a plain module of
torch, as a user would write it.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

FEATURES = 12
CHANNELS, EDGE, LENGTH = 3, 2, 4  # FEATURES = CHANNELS x EDGE x EDGE = CHANNELS x LENGTH
LATE_STEP = 2  # from this step on, counted from 0


def linear() -> nn.Linear:
    """Return a layer of the features."""
    return nn.Linear(FEATURES, FEATURES)


class Shaped(nn.Module):
    """Applies a module to the features in another shape."""

    def __init__(self, module: nn.Module, *shape: int) -> None:
        super().__init__()
        self.module, self.shape = module, shape

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        made = self.module(x_BF.view(len(x_BF), *self.shape))
        features: Tensor = made[0] if isinstance(made, tuple) else made
        return features.flatten(1)


class Attention(nn.Module):
    """Attention among the channels."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(LENGTH, 2, batch_first=True)

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        x_BCL = x_BF.view(len(x_BF), CHANNELS, LENGTH)
        features: Tensor = self.attention(x_BCL, x_BCL, x_BCL)[0]
        return x_BF + features.flatten(1)


class Frozen(nn.Module):
    """A pretrained layer with its statistics, which stay as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = linear(), nn.BatchNorm1d(FEATURES)
        self.norm.running_mean = torch.randn(FEATURES)
        self.requires_grad_(False)
        self.eval()

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        return x_BF + torch.tanh(self.norm(self.layer(x_BF)))


class Unused(nn.Module):
    """A layer that no pass uses."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = linear(), nn.LayerNorm(FEATURES)

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return the features as they are."""
        return x_BF


class Counting(nn.Module):
    """Counts its passes in training."""

    passes_per_step = 1
    passes: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layer = linear()
        self.register_buffer("passes", torch.zeros((), dtype=torch.int64))

    def count(self) -> int:
        """Return the step, from 0, and count the pass if the net is trained."""
        step = int(self.passes) // self.passes_per_step
        if self.training:
            self.passes += 1
        return step


class Alternating(Counting):
    """A branch that is used in every second step, and in evaluations."""

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        is_used = self.count() % 2 == 0 or not self.training
        return x_BF + torch.tanh(self.layer(x_BF)) if is_used else x_BF


class Unfrozen(Counting):
    """A layer that is trained from a later step on."""

    def __init__(self) -> None:
        super().__init__()
        self.layer.requires_grad_(False)

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        step = self.count()
        if self.training:
            self.layer.requires_grad_(step >= LATE_STEP)
        return x_BF + torch.tanh(self.layer(x_BF))


class FrozenLater(Counting):
    """A layer that is trained until a later step."""

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        step = self.count()
        if self.training:
            self.layer.requires_grad_(step < LATE_STEP)
        return x_BF + torch.tanh(self.layer(x_BF))


class Sometimes(nn.Module):
    """A branch that depends on the input: some ranks use it in a step, others do not."""

    raw: Tensor | None = None  # the input of the net, which it sets before each pass

    def __init__(self) -> None:
        super().__init__()
        self.layer = linear()

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        assert self.raw is not None
        is_used = int(self.raw.double().flatten().sum() * 1001) % 2 == 0 or not self.training
        return x_BF + torch.tanh(self.layer(x_BF)) if is_used else x_BF


class Tied(nn.Module):
    """Two layers with one weight, which two names lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = linear(), linear()
        self.second.weight = self.first.weight

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        added: Tensor = self.second(torch.tanh(self.first(x_BF)))
        return x_BF + added


class Buffers(nn.Module):
    """Buffers that are no statistics: a mask, a number that counts, and a constant that no checkpoint of torch has."""

    mask: Tensor
    seen: Tensor
    factor: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.arange(FEATURES) % 4 != 1)
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("factor", torch.full((FEATURES,), 1.5), persistent=False)

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        if self.training:
            self.seen += 1
        return x_BF * torch.where(self.mask, self.factor, 1.0) * (1 + 0.1 * torch.sin(self.seen))


class Gains(nn.Module):
    """Weights that belong to no layer: a scalar and a vector."""

    def __init__(self) -> None:
        super().__init__()
        self.temperature, self.gain = nn.Parameter(torch.ones(())), nn.Parameter(torch.rand(FEATURES) + 0.5)

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        return x_BF * self.gain / (1 + self.temperature**2)


class Transposed(nn.Module):
    """A weight that is not contiguous in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(FEATURES, FEATURES).t() / FEATURES)

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        return x_BF + torch.tanh(x_BF @ self.weight)


class OtherType(nn.Module):
    """A layer of another type than the net's."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.layer, self.own_dtype = linear(), dtype

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return features of the same shape."""
        return x_BF + torch.tanh(self.layer(x_BF.to(self.own_dtype)).to(x_BF.dtype))


def normalized(norm: nn.Module, *shape: int) -> Callable[[nn.Module], nn.Module]:
    """Return a function that puts a layer before a normalization."""
    return lambda layer: nn.Sequential(layer, Shaped(norm, *shape))


PARTS: dict[str, Callable[[], nn.Module]] = {
    "linear": lambda: nn.Sequential(linear(), nn.Tanh()),
    "convolution": lambda: Shaped(nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1), CHANNELS, EDGE, EDGE),
    "frozen": Frozen,
    "fixed_statistics": lambda: nn.Sequential(linear(), nn.BatchNorm1d(FEATURES).eval()),
    "unused": Unused,
    "alternating": Alternating,
    "sometimes": Sometimes,
    "unfrozen": Unfrozen,
    "frozen_later": FrozenLater,
    "tied": Tied,
    "batch_norm": lambda: nn.Sequential(linear(), nn.BatchNorm1d(FEATURES)),
    "batch_norm_2d": lambda: nn.Sequential(linear(), Shaped(nn.BatchNorm2d(CHANNELS), CHANNELS, EDGE, EDGE)),
    "cumulative_norm": lambda: nn.Sequential(linear(), nn.BatchNorm1d(FEATURES, momentum=None)),
    "layer_norm": lambda: nn.Sequential(linear(), nn.LayerNorm(FEATURES)),
    "group_norm": lambda: nn.Sequential(linear(), nn.GroupNorm(CHANNELS, FEATURES)),
    "rms_norm": lambda: nn.Sequential(linear(), nn.RMSNorm(FEATURES)),
    "instance_norm": lambda: Shaped(
        nn.InstanceNorm1d(CHANNELS, affine=True, track_running_stats=True), CHANNELS, LENGTH
    ),
    "attention": Attention,
    "lstm": lambda: Shaped(nn.LSTM(LENGTH, LENGTH, batch_first=True), CHANNELS, LENGTH),
    "weight_norm": lambda: parametrizations.weight_norm(linear()),
    "spectral_norm": lambda: parametrizations.spectral_norm(linear()),
    "orthogonal": lambda: parametrizations.orthogonal(linear(), orthogonal_map="cayley"),
    "buffers": Buffers,
    "gains": Gains,
    "transposed": Transposed,
    "bfloat16_layer": lambda: OtherType(torch.bfloat16),
    "float64_layer": lambda: OtherType(torch.float64),
}
BATCH_NORMS = ("batch_norm", "batch_norm_2d", "cumulative_norm")

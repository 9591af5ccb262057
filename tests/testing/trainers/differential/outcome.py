"""Outcome: what a case results in on one rank, by the engine or by the reference."""

from dataclasses import dataclass, field

from torch import Tensor

Tensors = dict[str, Tensor]


@dataclass
class Refusal:
    """An error that ended a run."""

    kind: str  # the type of the exception
    text: str
    steps: int  # taken before
    trace: str = ""


@dataclass
class Outcome:
    """The state of one rank at the end, and what the run reported."""

    initial: Tensors = field(default_factory=dict)  # parameters before the first step
    parameters: Tensors = field(default_factory=dict)
    buffers: Tensors = field(default_factory=dict)
    average_parameters: Tensors = field(default_factory=dict)  # of the exponential average
    average_buffers: Tensors = field(default_factory=dict)
    modes: dict[str, bool] = field(default_factory=dict)  # whether each module is in training mode
    losses: list[float] = field(default_factory=list)  # of each step
    evaluations: list[tuple[float, float]] = field(default_factory=list)  # held-out loss and accuracy of each epoch
    refusal: Refusal | None = None


def copies(named: "dict[str, Tensor]") -> Tensors:
    """Return copies of tensors."""
    return {name: tensor.detach().clone() for name, tensor in named.items()}

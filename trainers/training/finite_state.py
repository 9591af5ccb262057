"""What of a run's state is not finite: weights, statistics, a center, the preconditioner's and the optimizer's state.

Frozen parameters and buffers of a user's own layer are not looked at: a mask of attention holds -inf on purpose. In the
optimizer's state an infinity may be on purpose too, such as a least value so far, but a NaN of a weight reaches the
weight sooner or later.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from trainers.checkpoints.finite import listed, not_finite

MODEL, AVERAGE = "model.", "average."  # prefixes of names in a checkpoint
State = Mapping[str, Any]
Optimized = Sequence[tuple[str, tuple[int, ...]]]  # names and shapes of the optimizer's parameters, by their numbers


def frozen_parameters(model: nn.Module) -> set[str]:
    """Return the names of the parameters that are not trained."""
    return {name for name, p in model.named_parameters() if not p.requires_grad}


def find_in_weights(
    parameters: Mapping[str, Tensor], statistics: Mapping[str, Tensor], *, frozen: Collection[str]
) -> str | None:
    """Return which parameters and statistics are not finite, in words, or None if all are finite.

    Names begin with `model.`, or with `average.` for the weights' average. frozen: the names in the net of parameters
    that are not looked at.
    """
    return _first(
        [_weights(parameters, frozen), _sentence("the statistics of normalization are", not_finite(statistics))]
    )


def find_in_parts(
    shared: State, own: State, *, statistics: Collection[str], frozen: Collection[str], optimized: Optimized
) -> str | None:
    """Return what is not finite in the shared part and in a rank's part of a checkpoint, in words, or None.

    statistics: the names of the buffers that are statistics; frozen: of the parameters that are not looked at.
    """
    buffers = {name: buffer for name, buffer in own.get("buffers", {}).items() if name in statistics}
    replica, center = own.get("replica", {}), own.get("rule", {}).get("center", {}).get("tensors", {})
    trained = replica or shared
    factors = {name: x for name, x in trained.get("preconditioner", {}).items() if isinstance(x, Tensor)}
    states = dict(_states(trained.get("optimizer", {}), optimized))
    return _first(
        [
            find_in_weights(shared.get("parameters", {}), buffers, frozen=frozen),
            _weights(replica.get("parameters", {}), frozen, " of the replica"),
            _sentence("the center is", not_finite(center)),
            _sentence("the preconditioner's state is", not_finite(factors)),
            _sentence("the optimizer's state is", not_finite(states, allows_infinity=True)),
        ]
    )


def _weights(parameters: Mapping[str, Tensor], frozen: Collection[str], whose: str = "") -> str | None:
    trained = {
        name: p for name, p in parameters.items() if name.removeprefix(MODEL).removeprefix(AVERAGE) not in frozen
    }
    names = [
        f"{name.removeprefix(AVERAGE)} of the average" if name.startswith(AVERAGE) else name
        for name in not_finite(trained)
    ]
    return _sentence(f"the weights{whose} are", names)


def _sentence(what_is: str, names: list[str]) -> str | None:
    return f"{what_is} not finite: {listed([name.removeprefix(MODEL) for name in names])}" if names else None


def _states(optimizer: State, optimized: Optimized) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a parameter's shape in its state, by names such as `momentum of 0.weight`."""
    states = optimizer.get("state")  # a user's optimizer may have another state dict
    for number, (name, shape) in enumerate(optimized):
        of_one = states.get(number) if isinstance(states, Mapping) else None
        for key, value in of_one.items() if isinstance(of_one, Mapping) else ():
            if isinstance(value, Tensor) and value.shape == shape:
                yield f"{key} of {name}", value


def _first(found: Sequence[str | None]) -> str | None:
    return next((text for text in found if text), None)

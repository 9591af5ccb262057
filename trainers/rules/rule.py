"""Rule: the interface of an update rule, which decides how replicas exchange gradients or weights in a step."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from torch import Tensor

EXTRA_VALUES = 4  # the largest number of values that travel with the gradients or weights: the loss and requests


class Rule(Protocol):
    """Updates this rank's replica, one step at a time."""

    replicas_differ: bool  # between steps every rank has its own weights
    is_synchronous: bool  # every rank takes its n-th step together with all other ranks

    def begin_step(self, requests: Sequence[float] = (), /) -> None:
        """Start the communication that overlaps the forward and the backward pass that follow.

        `requests`: what this rank sends at this step besides its loss, which is not known yet.
        """
        ...

    def mark_last_pass(self, values: Tensor | None = None, /) -> None:
        """Announce that the next backward pass is the step's last, so that complete gradients may be sent.

        `values`: those that `step` will get, if they are known already.
        """
        ...

    def step(self, values: Tensor, /) -> Tensor:
        """Apply and clear the gradients of the step; return the means over the ranks of their `values`.

        `values` is the loss, or a vector of the loss and this rank's requests (trainers/recovery/step_agreement.py).
        They go through the rule, because only the rule knows when and how the ranks communicate: an extra message for
        a few numbers would cost a large world as many latencies as the gradients do. A rule that does not communicate
        at every step returns the mean loss of the last exchange, and 0 for the requests. If rank 0 serves a center,
        only its requests count: every other rank receives them once.

        A rule reads no number of `values` or of the gradients on the host before the update: on a GPU the host would
        wait until the GPU has caught up.
        """
        ...

    def wait_for_all(self) -> None:
        """Wait until every rank that is not lost has taken its last step."""
        ...

    def evaluation_weights(self) -> AbstractContextManager[None]:
        """Return a context in which the model has the weights that are the result of the run."""
        ...

    def departed_ranks(self) -> Mapping[int, str | None]:
        """Return, on rank 0, the ranks that exchange no more, and why each was lost; None if it took all its steps."""
        ...

    def start_replica(self, steps: int) -> None:
        """Start a new replica after `steps` steps; the model has the weights that are the result of the run."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return this rank's state of the rule, without model and optimizer."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned on this rank."""
        ...

"""How replicas agree: what happens between one forward pass and the next."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from torch import Tensor

RIDERS = 4  # so many numbers at most travel with the gradients, or with the weights


class Rule(Protocol):
    """Moves this rank's replica by one step."""

    replicas_differ: bool  # between steps every rank has weights of its own
    is_synchronous: bool  # every rank takes its n-th step together with all others

    def begin(self, wishes: Sequence[float] = (), /) -> None:
        """Start what may go on beside the forward and the backward pass that follow.

        `wishes`: what this rank tells at this step besides its loss, which is not known yet.
        """
        ...

    def last_pass(self) -> None:
        """The backward pass that follows is the step's last: its gradients may leave as they are completed."""
        ...

    def step(self, told: Tensor, /) -> Tensor:
        """Use up the gradients of a backward pass; return the mean over the ranks of what each of them told.

        A rank tells its loss, or a vector of its loss and what else the ranks have to know of each other at this step
        (trainers/recovery/step_agreement.py). It goes through the rule because only the rule knows when the ranks talk
        and how: a
        message of its own for a few numbers would cost a large world as many latencies as the gradients do. Rules that
        do not talk at every step return the mean loss as it was when they last did, and 0 for what else is told. Where
        rank 0 serves a center, it alone is heard: its wishes are told to every other rank once.
        """
        ...

    def settle(self) -> None:
        """Wait until every rank that still lives has taken its last step."""
        ...

    def answer(self) -> AbstractContextManager[None]:
        """While inside, the model has the weights that the run answers with."""
        ...

    def left(self) -> Mapping[int, str | None]:
        """On rank 0: the ranks that exchange no more, and how each was lost; None: it has taken all its steps."""
        ...

    def join(self, steps: int) -> None:
        """Begin as a new replica after `steps` steps; the model has the weights that the run answers with."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """What this rank keeps beside model and optimizer."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned on this rank."""
        ...

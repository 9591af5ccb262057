"""StepAgreement: how the ranks agree to pause, to save or to compare their replicas after the same step.

The requests travel with the loss through the rule's exchange, so they cost no extra message. Under a synchronous rule
all ranks receive the same sum at the same step, and a request of one rank becomes a request of all. If rank 0 serves a
center, rank 0 alone decides: its request is the step at which it saves, and every other rank receives the request at
its next exchange with the center.
"""

from collections.abc import Sequence

from torch import Tensor

from trainers.rules.host_numbers import numbers_on


class StepAgreement:
    """This rank's requests for the end of the current step, and the agreement of all ranks at the last step."""

    def __init__(self) -> None:
        self.wants_pause, self.wants_save, self.wants_comparison = False, False, False
        self.agreed_pause, self.agreed_save, self.agreed_comparison = False, False, False
        self.step = 1  # the value that encodes a request; any value but 0 if all ranks are at the same step
        self.agreed_step = 0  # the step of rank 0's request, if rank 0 serves a center

    @property
    def requests(self) -> list[float]:
        """The three numbers that the rule sends to the other ranks: 0 means no request."""
        return [float(self.step * wants) for wants in (self.wants_pause, self.wants_save, self.wants_comparison)]

    def append_to_loss(self, loss: Tensor) -> Tensor:
        """Return the loss and the requests as one float64 vector, a type that can hold any step."""
        values_4 = numbers_on(loss.device, [0.0, *self.requests])
        values_4[0] = loss.detach()
        return values_4

    def receive(self, means_3: Sequence[float]) -> None:
        """Store the means over the ranks: a mean above 0 shows that a rank requested it."""
        pause, save, comparison = means_3
        self.agreed_pause, self.agreed_save, self.agreed_comparison = pause > 0, save > 0, comparison > 0
        self.agreed_step = round(max(pause, save))

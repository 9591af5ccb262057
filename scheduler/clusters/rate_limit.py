"""The gate before a cluster's commands: how many calls a minute it bears, and who gives way."""

from enum import Enum
from typing import Protocol

PER_MINUTE = 12  # calls to one cluster, however many runs live and however many workers ask
LOOK_APART_S = 20.0  # a look is sure to be possible so long after the one before: a minute has slots for three
# so long after a controller kept silent nobody calls it but looks, and nobody submits: calls are needed once it is back
SPARE_S, SPARE_SUBMISSIONS_S = 12.0, 30.0
KEPT = 2  # of the slots for asking, that no look which comes sooner uses: what a look leaves open is asked with them


class Urgency(Enum):
    """What a call is for; each kind has its part of the slots, used first, and some in common with others."""

    ACT = (11, 10, 9, 8, 7, 6)  # submit, cancel: whatever is asked, four of these a minute go at once
    LOOK = (4, 3, 2)  # how all jobs are: one every 20 s whatever is asked and done, more while others leave room
    FIND = (11, 10, 9, 8, 7, 6, 1, 0)  # whether it took a submission: what people wait for comes behind that
    ASK = (5, 1, 0, 7, 6)  # what a look left open: whatever is done and told, one of these a minute
    TELL = (0, 1)  # what the cluster looks like: for people


class Gate(Protocol):
    def enter(self, urgency: Urgency) -> bool:
        """Take the right to one call; False when the minute's calls are spent."""
        ...

    def free(self, urgency: Urgency) -> int:
        """How many calls might enter now; nothing is taken."""
        ...

    def note(self, command: str, outcome: str, seconds: float) -> None:
        """Count a call that was made: its command, "ok", "failed" or "timeout", and how long it took."""
        ...

    def spared(self, seconds: float = SPARE_S) -> bool:
        """Whether the controller, when it was last called, kept silent, and that was less than so long ago."""
        ...

    def heard(self, *, silence: bool) -> None:
        """Say whether the controller kept silent when it was called just now."""
        ...


class OpenGate:
    """Lets everybody pass and counts nothing: for a look ahead, which calls nobody."""

    def enter(self, urgency: Urgency) -> bool:
        return True

    def free(self, urgency: Urgency) -> int:
        return PER_MINUTE

    def note(self, command: str, outcome: str, seconds: float) -> None:
        pass

    def spared(self, seconds: float = SPARE_S) -> bool:
        return False

    def heard(self, *, silence: bool) -> None:
        pass

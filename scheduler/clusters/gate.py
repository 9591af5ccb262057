"""The gate before a cluster's commands: how many calls a minute it bears, and who gives way."""

from enum import Enum
from typing import Protocol

PER_MINUTE = 12  # calls to one cluster, however many runs live and however many workers ask


class Urgency(Enum):
    """What a call is for; each kind has its part of the slots, and some of them in common with the next."""

    ACT = range(5, PER_MINUTE)  # submit, cancel: however much is, three looks a minute are left
    ASK = range(7)  # how jobs are: whatever is asked, five submissions a minute go at once
    TELL = range(2)  # what the cluster looks like: for people


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


class OpenGate:
    """Lets everybody pass and counts nothing: for a look ahead, which calls nobody."""

    def enter(self, urgency: Urgency) -> bool:
        return True

    def free(self, urgency: Urgency) -> int:
        return PER_MINUTE

    def note(self, command: str, outcome: str, seconds: float) -> None:
        pass

"""What a rank leaves behind when it falls, and which of several fell first though their clocks differ."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from contract.lifecycle.failure import FailureKind


class _Noted(BaseModel):
    """Open to fields of a newer trainer, as events are."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Fall(_Noted):
    """Why one rank could not go on."""

    at: float  # seconds since 1970, by the clock of whoever noted it
    rank: int
    host: str
    reason: str  # one line
    trace: str = ""
    echo: bool = False  # only a sign that another rank fell: its connections broke
    kind: FailureKind = FailureKind.PYTHON_ERROR
    round: int | None = None  # of the collective in which it was missed
    lost: list[int] = []  # of an echo: whose connections broke
    by: int | None = None  # the rank that noted it, where that is another one


class Roll(_Noted):
    """The ranks of an attempt when they met, in their order."""

    hosts: list[str]
    ahead_s: list[float]  # how far the clock of each goes before that of rank 0


def in_order(noted: Sequence[tuple[Fall, float]], roll: Roll | None) -> list[Fall]:
    """The falls, the first one first by one clock, echoes after all that are none; `at` is by that clock then.

    Each comes with the moment at which its note was written by the shared folder's clock. That one counts when the
    ranks had not met; afterwards their own clocks do, as far as they differed when they met.
    """
    falls = [(fall.model_copy(update={"at": _moment(fall, written_at, roll)}), fall.at) for fall, written_at in noted]
    # a folder's clock may tick a hundred times a second only: then the ranks' own must do
    return [fall for fall, _ in sorted(falls, key=lambda pair: (pair[0].echo, pair[0].at, pair[1]))]


def _moment(fall: Fall, written_at: float, roll: Roll | None) -> float:
    noter = fall.rank if fall.by is None else fall.by
    if roll is None or not noter < len(roll.ahead_s):
        return written_at
    return fall.at - roll.ahead_s[noter]

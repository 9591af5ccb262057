"""States of a search's trials, and the causes of a search's end."""

from enum import StrEnum


class TrialStatus(StrEnum):
    """How far a trial is.

    running: its runs are queued, or train. waiting: stopped at a comparison; it goes on from its checkpoint as soon as
    it is among the best. suspended: stopped because the search is paused. done: its runs are done. stopped: it ended
    early, for good. failed: it has no value.
    """

    RUNNING = "running"
    WAITING = "waiting"
    SUSPENDED = "suspended"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


GOING_ON = (TrialStatus.RUNNING, TrialStatus.WAITING, TrialStatus.SUSPENDED)


# The messages of trials that the end of the budget stopped, by their status before it, which a larger budget restores.
# They are stored: do not change them.
STOPPED_BY_BUDGET = {
    TrialStatus.SUSPENDED: "the budget was used while it ran",
    TrialStatus.WAITING: "the budget was used while it waited at a comparison",
}


class EndCause(StrEnum):
    """Why a search ended: all its trials ended, its budget is used, or somebody stopped it."""

    TRIALS = "trials"
    BUDGET = "budget"
    REQUEST = "request"

"""What the search tick knows of a search when it decides."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from contract.lifecycle.reason import StopSource
from contract.lifecycle.state import ENDED, State
from contract.lifecycle.trial import GOING_ON, TrialStatus
from contract.spec.search.search import SearchSpec


@dataclass(frozen=True)
class TrialRun:
    """A run of a trial."""

    state: State
    stop_source: StopSource | None = None  # who asked it to stop


@dataclass(frozen=True)
class TrialView:
    """A trial, with what its runs have reported since the last decision."""

    number: int
    status: TrialStatus
    rungs: tuple[float | None, ...] = ()  # its values at comparisons that are stored
    bracket: int = 0
    runs: tuple[TrialRun, ...] = ()
    new_rungs: tuple[float | None, ...] = ()  # at comparisons that it has reached since; None: it has diverged
    value: float | None = None  # of its curve by now; None: no finite value

    @property
    def goes_on(self) -> bool:
        """Whether its end is not stored."""
        return self.status in GOING_ON

    @property
    def is_live(self) -> bool:
        """Whether a run of it may hold an allocation, or will."""
        return any(run.state not in ENDED for run in self.runs)

    @property
    def is_stopping(self) -> bool:
        """Whether all its runs that have not ended were asked to stop."""
        return all(run.stop_source is not None for run in self.runs if run.state not in ENDED)

    @property
    def is_done(self) -> bool:
        """Whether all its runs are done."""
        return bool(self.runs) and all(run.state is State.DONE for run in self.runs)

    @property
    def has_failed(self) -> bool:
        """Whether a run of it has failed."""
        return any(run.state is State.FAILED for run in self.runs)

    @property
    def was_cancelled(self) -> bool:
        """Whether somebody else than the search has cancelled a run of it."""
        cancelled = [run for run in self.runs if run.state is State.CANCELLED]
        return any(run.stop_source is not StopSource.SEARCH for run in cancelled)


@dataclass(frozen=True)
class SearchView:
    """A search with its trials, in their order."""

    spec: SearchSpec
    wanted: int  # trials that there shall be
    rungs: Sequence[Sequence[float]] = ((),)  # the resources of the comparisons, by bracket
    trials: Sequence[TrialView] = field(default_factory=list)
    is_paused: bool = False
    is_stopped: bool = False  # somebody asked for it
    is_spent: bool = False  # the budget is used

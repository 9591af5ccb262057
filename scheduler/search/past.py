"""The stored trials of a search as the sampler is told of them."""

from contract.lifecycle.trial import TrialStatus
from scheduler.search.decide import Decision
from scheduler.search.read import StoredSearch
from store.tables.searches import Trial
from study.search.trials import Outcome, PastTrial

OUTCOMES = {
    TrialStatus.RUNNING: Outcome.OPEN,
    TrialStatus.SUSPENDED: Outcome.OPEN,
    TrialStatus.WAITING: Outcome.STOPPED,
    TrialStatus.STOPPED: Outcome.STOPPED,
    TrialStatus.DONE: Outcome.ENDED,
    TrialStatus.FAILED: Outcome.ENDED,
}


def past_trials(stored: StoredSearch, decision: Decision) -> list[PastTrial]:
    """Return the history of a search, with the changes of a decision that is stored together with the next trials."""
    return [_past(trial, decision) for trial in stored.trials]


def _past(trial: Trial, decision: Decision) -> PastTrial:
    change = decision.changes.get(trial.number, {})
    status: TrialStatus = change.get("status", trial.status)
    value: float | None = change.get("value", trial.value)
    outcome = OUTCOMES[status]
    if outcome is Outcome.STOPPED and value is None:
        outcome = Outcome.UNKNOWN
    rungs = change.get("rungs", trial.rungs)
    return PastTrial(trial.params, outcome, value, len(rungs), trial.memory)

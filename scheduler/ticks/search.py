"""The search tick: store what the trials of searches have reached, and start, stop and resume trials.

A decision is made from one snapshot, outside any transaction, and stored as a whole on the version that was read. A
worker that is killed before leaves the decision to the next tick, which comes to the same one: the sampler draws from
the stored history, and its random numbers depend on the trial alone.
"""

import logging
import math
import time

from contract.lifecycle.trial import TrialStatus
from scheduler.context import Context
from scheduler.search.carry_out import carry_out, new_trials
from scheduler.search.decide import Decision, decide
from scheduler.search.read import StoredSearch, read_search
from scheduler.search.weights import parent_weights
from scheduler.ticks.cancel import cancel
from store import changes
from store.search import searches
from store.session import snapshot, transaction
from store.tables.searches import Trial
from study.search.trials import Asked, Outcome, PastTrial

MAX_ASKS = 50  # new trials of a search in a tick: a sampler takes some hundredths of a second for each,
MAX_SLOW_ASKS = 1  # and a Gaussian process seconds
LOOK_AGAIN_S = 10.0  # at a search of which nothing has changed: its budget is used by time alone
log = logging.getLogger(__name__)


def search(context: Context) -> None:
    """Take the next steps of every search that has not ended. A fault of one does not hold up the others."""
    with snapshot(context.engine) as db:
        ids = searches.open_ids(db)
    seen = context.memory.searches_seen
    for gone in set(seen) - set(ids):
        del seen[gone]
    faults = []
    for search_id in ids:
        try:
            _advance(context, search_id)
        except Exception as error:
            log.exception("search %d could not be advanced", search_id)
            faults.append(error)
        context.memory.note_progress("search")
    if faults:
        raise ExceptionGroup("some searches could not be advanced", faults)


def _advance(context: Context, search_id: int) -> None:
    with snapshot(context.engine) as db:
        experiment_id = searches.experiment_of(db, search_id)
        state = changes.state_of(db, experiment_id)
        before, at = context.memory.searches_seen.get(search_id, (None, -math.inf))
        if before == state and time.monotonic() - at < LOOK_AGAIN_S:
            return
        stored = read_search(db, search_id)
    if stored is None:
        return
    decision = decide(stored.view)
    if decision.is_empty:
        context.memory.searches_seen[search_id] = (state, time.monotonic())
        return
    decision.asks = min(decision.asks, MAX_SLOW_ASKS if stored.view.spec.sampler.kind == "gp" else MAX_ASKS)
    asked = _ask(stored, decision)
    new = new_trials(stored, asked, parent_weights(context, stored, asked))
    with transaction(context.engine) as db:
        is_stored = carry_out(db, stored, decision, new)
    if is_stored and decision.stops:
        cancel(context)  # each moment until the stop is time of an allocation


def _ask(stored: StoredSearch, decision: Decision) -> list[Asked]:
    """Ask the sampler for new trials, with everything that the decision stores too."""
    if not decision.asks:
        return []
    from study.search.ask import ask  # a second's work, which a service without searches need not do

    return ask(stored.view.spec, past_trials(stored, decision), decision.asks)


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

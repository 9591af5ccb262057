"""The history of a search as a study of Optuna, in memory: made anew from the stored trials whenever it is needed."""

from collections.abc import Sequence
from typing import Any

import optuna
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState, create_trial

from contract.spec.search.search import SearchSpec
from contract.spec.search.space import ordered
from study.search.distributions import distribution_of, drawn_of
from study.search.trials import Outcome, PastTrial

optuna.logging.set_verbosity(optuna.logging.WARNING)  # it prints every study that is made


def study_of(search: SearchSpec, past: Sequence[PastTrial], sampler: BaseSampler, *, prunes: bool) -> optuna.Study:
    """Return a study with the trials of the history, in their order.

    `prunes`: the sampler knows trials that were stopped; for others they count as ended, with their last value.
    """
    study = optuna.create_study(direction="maximize" if search.maximizes else "minimize", sampler=sampler)
    values = [trial.value for trial in past if trial.value is not None]
    worst = (min if search.maximizes else max)(values, default=0.0)
    study.add_trials([_frozen(search, trial, worst, prunes=prunes) for trial in past])
    return study


def _frozen(search: SearchSpec, trial: PastTrial, worst: float, *, prunes: bool) -> FrozenTrial:
    paths = [path for path in ordered(search.space) if path in trial.params]
    value = worst if trial.value is None else trial.value
    known: dict[str, Any] = {
        "params": {path: drawn_of(search.space[path], trial.params[path]) for path in paths},
        "distributions": {path: distribution_of(search.space[path]) for path in paths},
        "system_attrs": dict(trial.memory),
    }
    if trial.outcome is Outcome.OPEN:
        return create_trial(state=TrialState.RUNNING, **known)
    if trial.outcome is Outcome.UNKNOWN:
        return create_trial(state=TrialState.FAIL, **known)
    if trial.outcome is Outcome.STOPPED and prunes:
        return create_trial(state=TrialState.PRUNED, intermediate_values={trial.rung: value}, **known)
    return create_trial(state=TrialState.COMPLETE, value=value, **known)

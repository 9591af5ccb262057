"""The next trials of a search: the sampler is asked, given everything that is known of the trials before."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from random import Random
from typing import Any

import optuna
from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler, RandomSampler, TPESampler
from optuna.trial import TrialState

from contract.spec.grid.equal_values import value_key
from contract.spec.grid.grid import Values
from contract.spec.search import samplers as spec
from contract.spec.search.parameters import Parameter
from contract.spec.search.search import SearchSpec
from contract.spec.search.space import draw, finite_points, grid_points
from study.search.distributions import suggest
from study.search.history import study_of
from study.search.population import next_generations
from study.search.trials import Asked, PastTrial

REDRAWS = 20  # of a point that an earlier trial had: with the same seed it would give the same result


def ask(search: SearchSpec, past: Sequence[PastTrial], count: int) -> list[Asked]:
    """Return the next `count` trials; fewer if a grid, a list or a space of few points has no more.

    Equal histories give equal trials: the random numbers of a trial depend on the seed and its number alone.
    """
    first, last = len(past), len(past) + count
    match search.sampler:
        case spec.GridSampler():
            points = grid_points(search.space, spec.MAX_TRIALS)
        case spec.ListSampler(points=listed):
            points = listed
        case spec.PopulationSampler():
            return next_generations(search, search.sampler, past, count, partial(_fresh, search))
        case _:
            return _drawn(search, past, count)
    return [Asked(number, point, 0, {}) for number, point in enumerate(points[first:last], first)]


def _fresh(search: SearchSpec, seed: int) -> Callable[[str, Parameter], Any]:
    """Return a function that draws values from their distributions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return partial(suggest, study_of(search, [], RandomSampler(seed=seed), prunes=False).ask())


def _drawn(search: SearchSpec, past: Sequence[PastTrial], count: int) -> list[Asked]:
    prunes = isinstance(search.sampler, spec.TpeSampler)
    study = study_of(search, past, RandomSampler(), prunes=prunes)
    seen = {value_key(trial.params) for trial in past}
    asked: list[Asked] = []
    for number in range(len(past), len(past) + count):
        trial = _draw_one(search, study, number, seen)
        if trial is None:
            break
        seen.add(value_key(trial.params))
        asked.append(trial)
    return asked


def _draw_one(search: SearchSpec, study: optuna.Study, number: int, seen: set[str]) -> Asked | None:
    for draw_number in range(REDRAWS):
        seed = _seed(getattr(search.sampler, "seed", 0), number, draw_number)
        params, memory = _suggested(search, study, seed)
        if value_key(params) not in seen:
            return Asked(number, params, seed, memory)
        study.tell(study.get_trials(deepcopy=False)[-1].number, state=TrialState.FAIL)  # samplers leave it out
    points = finite_points(search.space)
    if points is None:
        return Asked(number, params, seed, {})
    unseen = [point for point in points if value_key(point) not in seen]
    return Asked(number, Random(seed).choice(unseen), seed, {}) if unseen else None


def _suggested(search: SearchSpec, study: optuna.Study, seed: int) -> tuple[Values, dict[str, Any]]:
    """Return what the sampler suggests, and its notes on the trial."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts that Optuna may change: its version is pinned
        study.sampler = sampler_of(search, seed)
        trial = study.ask()
        params = draw(search.space, partial(suggest, trial))
    return params, dict(study.get_trials(deepcopy=False)[-1].system_attrs)


def sampler_of(search: SearchSpec, seed: int) -> BaseSampler:
    """Return Optuna's sampler with the seed of a trial."""
    is_conditional = any(parameter.only_if for parameter in search.space.values())
    match search.sampler:
        case spec.TpeSampler(startup_trials=startup, multivariate=multivariate):
            group = is_conditional and multivariate
            return TPESampler(seed=seed, n_startup_trials=startup, multivariate=multivariate, group=group)
        case spec.CmaEsSampler(startup_trials=startup, population=population):
            return CmaEsSampler(
                seed=seed, n_startup_trials=startup, popsize=population, warn_independent_sampling=False
            )
        case spec.GpSampler(startup_trials=startup):
            return GPSampler(seed=seed, n_startup_trials=startup, warn_independent_sampling=False)
        case _:
            return RandomSampler(seed=seed)


def _seed(seed: int, number: int, draw_number: int) -> int:
    return int.from_bytes(sha256(f"{seed}/{number}/{draw_number}".encode()).digest()[:4]) >> 1

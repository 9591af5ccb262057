"""The importance of a search's parameters: PED-ANOVA (Watanabe, Bansal and Hutter, 2023) as Optuna computes it."""

import warnings
from collections.abc import Sequence

from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.samplers import RandomSampler

from contract.spec.grid.grid import Values
from contract.spec.search.search import SearchSpec
from study.search.history import study_of
from study.search.trials import LEAST_TRIALS, Outcome, PastTrial

BEST = 0.1  # of the trials are compared with all, and at least:
LEAST_BEST = 5


def importances(search: SearchSpec, trials: Sequence[tuple[Values, float | None]]) -> dict[str, float]:
    """Return each parameter's share of what makes trials good, the largest first; nothing for few trials.

    `trials`: the values of the parameters, and that of the metric; None of a trial that failed.
    """
    if len(trials) < LEAST_TRIALS or len({value for _, value in trials}) < 2:
        return {}
    past = [PastTrial(params, Outcome.ENDED, value) for params, value in trials]
    study = study_of(search, past, RandomSampler(), prunes=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few trials, which the caller says too
        quantile = min(0.5, max(BEST, LEAST_BEST / len(trials)))
        found = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator(target_quantile=quantile))
    return {path: float(share) for path, share in found.items()}

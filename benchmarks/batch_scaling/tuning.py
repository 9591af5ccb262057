"""The choice of rate and warm-up, with equal effort for every method: seven runs of one seed a batch.

    1. three rates, each four times the one before, with the short warm-up
    2. half and twice the best of them, with the short warm-up
    3. the best of these five and twice the best, with the long warm-up, which bears larger rates

Linear scaling has no rate to choose but that of the smallest batch: it is tuned over the warm-up alone.
"""

from collections.abc import Mapping

from benchmarks.batch_scaling.problems import RATES, WARMUPS, Trial

Accuracies = Mapping[Trial, float]  # of the tuning seed; 0 for a run that diverged


def next_trials(method: str, known: Accuracies) -> list[Trial]:
    """Return the trials of the next step of tuning that are not known yet; none if the search has ended."""
    short, long = WARMUPS
    steps = [[Trial(rate, short) for rate in RATES[method]]]
    if all(trial in known for trial in steps[0]):
        rate = best({trial: known[trial] for trial in steps[0]}).rate
        steps.append([Trial(rate / 2, short), Trial(rate * 2, short)])
    if len(steps) == 2 and all(trial in known for trial in steps[1]):
        rate = best({trial: known[trial] for trial in [*steps[0], *steps[1]]}).rate
        steps.append([Trial(rate, long), Trial(rate * 2, long)])
    return [trial for trial in steps[-1] if trial not in known]


def scaled_trials(rate: float) -> list[Trial]:
    """Return the trials of linear scaling at one batch: the given rate of the smallest batch, with each warm-up."""
    return [Trial(rate, warmup) for warmup in WARMUPS]


def best(known: Accuracies) -> Trial:
    """Return the trial of the highest accuracy; of equal ones the smallest rate, then the shortest warm-up."""
    return min(known, key=lambda trial: (-known[trial], trial))


def is_at_edge(method: str, trial: Trial) -> bool:
    """Return whether the trial has the smallest or the largest rate that the search can reach with its warm-up."""
    least, _, most = RATES[method]
    return trial.rate <= least / 2 or trial.rate >= most * (2 if trial.warmup == WARMUPS[0] else 4)

"""The objective of a stored experiment: what its spec says, else a default by what its runs report."""

from collections.abc import Collection

from contract.metric_direction import key_metric
from contract.metric_names import HELDOUT_ACCURACY, HELDOUT_LOSS
from contract.spec.experiment import ExperimentSpec
from contract.spec.objective import Objective, objective_of_search
from contract.spec.recorded.run import RecordedExperiment


class StoredObjective(Objective):
    """The objective of an experiment, and whether it is only the engine's default."""

    is_default: bool = False
    """Whether nobody has chosen it."""


ACCURACY = StoredObjective(metric=HELDOUT_ACCURACY, goal="max", is_default=True)


def stored_objective(spec: ExperimentSpec | RecordedExperiment) -> StoredObjective | None:
    """Return the objective that a spec sets; None for a program, whose metrics are known when it reports them."""
    if not isinstance(spec, ExperimentSpec):
        return None
    if spec.objective is not None:
        return chosen(spec.objective)
    if spec.search is not None:
        return chosen(objective_of_search(spec.search))
    if len(of_steps := [step.own_objective for step in spec.steps if step.own_objective is not None]) == 1:
        return chosen(of_steps[0])
    is_engine = any(step.is_engine for step in spec.steps) if spec.base is None else not spec.base.names_own_metrics
    return ACCURACY if is_engine else None


def chosen(objective: Objective) -> StoredObjective:
    """Return an objective that somebody has chosen, with its goal."""
    return StoredObjective(metric=objective.metric, goal=objective.known_goal, value=objective.value)


def objective_by_names(stored: StoredObjective | None, names: Collection[str]) -> StoredObjective | None:
    """Return the objective of an experiment of which a run reports the metrics `names`.

    Where nobody has chosen one, it is the held-out accuracy, or the metric that tells most of a run; None if no name
    says which values are good. Some nets of the engine have no accuracy.
    """
    lacks_accuracy = HELDOUT_LOSS in names and HELDOUT_ACCURACY not in names
    if stored is not None and not (stored.is_default and lacks_accuracy):
        return stored
    metric = HELDOUT_ACCURACY if HELDOUT_ACCURACY in names else key_metric(names)
    return stored if metric is None else StoredObjective(metric=metric, is_default=True)

"""The figures of a run that a picture may show, and the one that answers the question of an experiment.

An experiment whose objective somebody has chosen asks for that metric, as its search does. One that varies how the same
sums are computed (collective, resources, ...) asks for time; any other asks for accuracy. A program's figures are the
best and the newest values of its series; times are no answer to a question that does not ask for them.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from contract.api.answer import AnswerFigure, FigureUnit, Picture
from contract.api.responses import RunView
from contract.metric_direction import Direction, by_telling, direction_of, is_of_heldout, is_result
from contract.metric_names import (
    COMMUNICATION_S,
    EVERY_EPOCH,
    EVERY_STEP,
    HELDOUT_ACCURACY,
    HELDOUT_LOSS,
    LOSS,
    SAMPLES_PER_S,
    TIME_DETAILS,
    is_secondary,
)
from contract.objective import StoredObjective, stored_objective
from contract.spec.experiment import ExperimentSpec
from contract.spec.recorded.run import RecordedExperiment
from study.answer.axes import Axis, is_batch
from study.answer.known import Known
from study.answer.measures import Measures
from study.spread import RUN_S, run_seconds

TO_TARGET, STEP_S = "seconds_to_target", "step_s"
# fields that change how fast the same training runs; with the others another training runs
TIME_FIELDS = {"collective", "resources", "rule", "checkpoint", "channels_last", "micro_batch", "precision"}
TIME_FIELDS |= {"cudnn_benchmark", "compile", "device"}
SHARE = re.compile(r"(^|[/_.-])acc(uracy)?$", re.IGNORECASE)
IS_HIGH: dict[Direction, bool | None] = {Direction.HIGHER: True, Direction.LOWER: False, Direction.UNKNOWN: None}

ACCURACY_FIGURE = AnswerFigure(
    name=f"best({HELDOUT_ACCURACY})", title="best held-out accuracy", unit=FigureUnit.SHARE, higher_is_better=True
)
ACCURACY_NUMBER = ACCURACY_FIGURE.model_copy(update={"unit": FigureUnit.NUMBER})
SPEED_FIGURE = AnswerFigure(
    name=SAMPLES_PER_S, title="samples per second", unit=FigureUnit.NUMBER, higher_is_better=True
)
SECONDS = {
    TO_TARGET: "time to the target accuracy",
    STEP_S: "time of a step",
    COMMUNICATION_S: "communication of a step",
    RUN_S: "running time",
}
OF_MEANS = {SAMPLES_PER_S, COMMUNICATION_S}  # means over the steps, and not newest values
LOSSES = {LOSS: "last training loss", HELDOUT_LOSS: "last held-out loss"}


@dataclass(frozen=True)
class Question:
    """What an experiment asks for."""

    metric: str | None = None  # of the objective that somebody has chosen
    is_higher_better: bool | None = None
    is_best: bool = True  # whether the best value of the metric counts, and not the last one
    is_program: bool = False  # whether the names of all series are the program's own


def question_of(spec: ExperimentSpec | RecordedExperiment, objective: StoredObjective | None) -> Question:
    """Return the metric of the objective that somebody has chosen, and whose names the series of the runs have.

    `objective`: of the experiment, if it is another one than that of its spec.
    """
    is_program = spec.base is not None and spec.base.names_own_metrics
    objective = objective or stored_objective(spec)
    if objective is None or objective.is_default:
        return Question(is_program=is_program)
    return Question(objective.metric, objective.maximizes, objective.value == "best", is_program)


def find_figures(runs: Sequence[RunView], known: Known, question: Question) -> list[AnswerFigure]:
    """Return the figures that at least one run has, the most telling first, as lists and tables have their metrics."""
    names = [*LOSSES, *own_names(runs, is_program=question.is_program)]
    if question.metric is not None and question.metric not in (*names, *SECONDS, SAMPLES_PER_S):
        names.append(question.metric)
    of_series = [one for name in by_telling(names) for one in _of_series(name, runs, question)]
    accuracy = ACCURACY_FIGURE if has_share_accuracies(runs, known) else ACCURACY_NUMBER
    if question.metric == HELDOUT_ACCURACY:
        accuracy = accuracy.model_copy(update={"higher_is_better": question.is_higher_better})
    of_series = [one for one in of_series if one.name != accuracy.name]
    times = [*(_seconds(name) for name in (TO_TARGET, STEP_S)), SPEED_FIGURE, _seconds(COMMUNICATION_S)]
    offered = [accuracy, *of_series, *times, _seconds(RUN_S)]
    found = {name for run in runs for name in _names(run, known.measures.get(run.id))}
    found |= {accuracy.name} if any(run.id in known.accuracies for run in runs) else set()
    found |= {TO_TARGET} if known.to_target else set()
    found |= {SAMPLES_PER_S} if any(run.id in known.samples_per_s for run in runs) else set()
    found |= {one.name for one in of_series if metric_of_best(one.name)}
    return [figure for figure in offered if figure.name in found]


def choose_figure(
    figures: Sequence[AnswerFigure], axes: Sequence[Axis], picture: Picture, question: Question
) -> AnswerFigure | None:
    """Return the figure that answers the question of an experiment; None if no run has one that does."""
    by_name = {figure.name: figure for figure in figures}
    asks_time = bool(axes) and all(axis.paths[0].split(".")[0] in TIME_FIELDS for axis in axes)
    # weak scaling: the batch grows with the ranks, and what is compared is a step
    is_weak_scaling = asks_time and any(is_batch(path) for axis in axes for path in axis.paths)
    times = [STEP_S, TO_TARGET] if picture is Picture.BARS or is_weak_scaling else [TO_TARGET, STEP_S]
    results = [figure.name for figure in figures if figure.name not in (*SECONDS, SAMPLES_PER_S)]
    wanted = [*_asked(question), *(times if asks_time else []), *results]
    return next((by_name[name] for name in wanted if name in by_name), None)


def _asked(question: Question) -> list[str]:
    """Return the names of the figures that an objective asks for, the first choice first."""
    if question.metric is None:
        return []
    return [best_of(question.metric), question.metric] if question.is_best else [question.metric]


def best_of(metric: str) -> str:
    """Return the name of the figure that is the best value of a metric, as a query has it."""
    return f"best({metric})"


def metric_of_best(figure: str) -> str | None:
    """Return the metric of whose values a figure is the best one; None for any other figure."""
    return figure[len("best(") : -1] if figure.startswith("best(") and figure.endswith(")") else None


def value_of(figure: AnswerFigure, run: RunView, known: Known) -> float | None:
    """Return the finite value of a run's figure; None without one."""
    measures = known.measures.get(run.id)
    match figure.name:
        case "seconds_to_target":
            found: float | None = known.to_target.get(run.id)
        case "run_s":
            found = run_seconds(run)
        case "step_s":
            found = measures.step_s if measures else None
        case "samples_per_s":
            found = known.samples_per_s.get(run.id)
        case "communication_s":
            found = measures.parts.get(COMMUNICATION_S) if measures else None
        case name if metric_of_best(name):
            found = known.best.get(run.id)
        case name:
            found = run.latest.get(name)
    return found if found is not None and math.isfinite(found) else None


def _seconds(name: str) -> AnswerFigure:
    return AnswerFigure(name=name, title=SECONDS[name], unit=FigureUnit.SECONDS, higher_is_better=False)


def own_names(runs: Iterable[RunView], *, is_program: bool) -> list[str]:
    """Return the names of the series that a user's program logged, not the engine."""
    names = dict.fromkeys(name for run in runs for name in run.latest)
    if is_program:
        figures = {*LOSSES, *SECONDS, SAMPLES_PER_S, HELDOUT_ACCURACY}
        return [name for name in names if not is_secondary(name) and name not in figures]
    engine = {*EVERY_STEP, *EVERY_EPOCH, *TIME_DETAILS}
    own = [name for name in names if not is_secondary(name) and name not in engine]
    return [name for name in own if not name.startswith("checkpoint_")]


def has_share_accuracies(runs: Iterable[RunView], known: Known) -> bool:
    """Return whether the accuracies are shares of 1; a program may report them in percent."""
    return all(0 <= known.accuracies.get(run.id, 0) <= 1 for run in runs)


def _of_series(name: str, runs: Sequence[RunView], question: Question) -> list[AnswerFigure]:
    """Return the figures of a series: its newest value, and its best one where it is clear which one that is.

    The best value comes first where it tells more: of held-out data, and of what grows. The least training loss of any
    step is noise.
    """
    if not any(run.latest.get(name) is not None for run in runs):
        return []
    unit = FigureUnit.SHARE if SHARE.search(name) and _is_share(name, runs) else FigureUnit.NUMBER
    is_asked = name == question.metric
    is_high = question.is_higher_better if is_asked else IS_HIGH[direction_of(name)]
    last = AnswerFigure(name=name, title=LOSSES.get(name, f"last {name}"), unit=unit, higher_is_better=is_high)
    if not (is_asked or is_result(name)) or name == SAMPLES_PER_S:
        return [last]
    best = AnswerFigure(name=best_of(name), title=f"best {name}", unit=unit, higher_is_better=is_high)
    return [best, last] if is_high or is_of_heldout(name) else [last, best]


def _is_share(name: str, runs: Sequence[RunView]) -> bool:
    values = [value for run in runs if (value := run.latest.get(name)) is not None]
    return all(0 <= value <= 1 for value in values)


def _names(run: RunView, measures: Measures | None) -> Iterator[str]:
    """Yield the names of the figures that a run has, without its speed and its time to the target."""
    yield from (name for name, value in run.latest.items() if value is not None and name not in OF_MEANS)
    if run_seconds(run) is not None:
        yield RUN_S
    if measures and measures.parts:
        yield STEP_S
        yield from measures.parts

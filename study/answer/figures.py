"""The figures of a run that a picture may show, and the one that answers the question of an experiment.

A search asks for its metric. An experiment that varies how the same sums are computed (collective, resources, ...) asks
for time; any other asks for accuracy. A program's figures are the newest values of its series; times are no answer to a
question that does not ask for them.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from contract.api.answer import AnswerFigure, FigureUnit, Picture
from contract.api.responses import RunView
from contract.metric_direction import Direction, by_telling, direction_of
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
from contract.spec.experiment import ExperimentSpec
from contract.spec.recorded.run import RecordedExperiment
from study.answer.axes import Axis, is_batch
from study.answer.measures import Measures
from study.spread import BEST_ACCURACY, RUN_S, run_seconds

TO_TARGET, STEP_S = "seconds_to_target", "step_s"
# fields that change how fast the same training runs; with the others another training runs
TIME_FIELDS = {"collective", "resources", "rule", "checkpoint", "channels_last", "micro_batch", "precision"}
TIME_FIELDS |= {"cudnn_benchmark", "compile", "device"}
SHARE = re.compile(r"(^|[/_.-])acc(uracy)?$", re.IGNORECASE)
IS_HIGH: dict[Direction, bool | None] = {Direction.HIGHER: True, Direction.LOWER: False, Direction.UNKNOWN: None}
Goals = Mapping[str, bool]

ACCURACY_FIGURE = AnswerFigure(
    name=BEST_ACCURACY, title="best held-out accuracy", unit=FigureUnit.SHARE, higher_is_better=True
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


def find_figures(
    runs: Sequence[RunView],
    measures: Mapping[int, Measures],
    speeds: Mapping[int, float],
    to_target: Mapping[int, float],
    goals: Goals,
) -> list[AnswerFigure]:
    """Return the figures that at least one run has, the most telling first, as lists and tables have their metrics.

    `goals`: whether the highest value of a metric is its best one, where the experiment says so.
    """
    accuracy = ACCURACY_FIGURE if has_share_accuracies(runs) else ACCURACY_NUMBER
    newest = [_newest(name, runs, goals) for name in by_telling([*LOSSES, *own_names(runs)])]
    times = [*(_seconds(name) for name in (TO_TARGET, STEP_S)), SPEED_FIGURE, _seconds(COMMUNICATION_S)]
    offered = [accuracy, *newest, *times, _seconds(RUN_S)]
    known = {name for run in runs for name in _names(run, measures.get(run.id))}
    known |= {TO_TARGET} if to_target else set()
    known |= {SAMPLES_PER_S} if any(run.id in speeds for run in runs) else set()
    return [figure for figure in offered if figure.name in known]


def choose_figure(
    figures: Sequence[AnswerFigure], axes: Sequence[Axis], picture: Picture, goals: Goals
) -> AnswerFigure | None:
    """Return the figure that answers the question of an experiment; None if no run has one that does."""
    by_name = {figure.name: figure for figure in figures}
    asks_time = bool(axes) and all(axis.paths[0].split(".")[0] in TIME_FIELDS for axis in axes)
    # weak scaling: the batch grows with the ranks, and what is compared is a step
    is_weak_scaling = asks_time and any(is_batch(path) for axis in axes for path in axis.paths)
    times = [STEP_S, TO_TARGET] if picture is Picture.BARS or is_weak_scaling else [TO_TARGET, STEP_S]
    results = [figure.name for figure in figures if figure.name not in (*SECONDS, SAMPLES_PER_S)]
    asked = [BEST_ACCURACY if name == HELDOUT_ACCURACY else name for name in goals]
    wanted = [*asked, *(times if asks_time else []), *results]
    return next((by_name[name] for name in wanted if name in by_name), None)


def value_of(
    figure: AnswerFigure, run: RunView, measures: Measures | None, speed: float | None, to_target: float | None
) -> float | None:
    """Return the finite value of a run's figure; None without one."""
    match figure.name:
        case "best_accuracy":
            found: float | None = run.best_accuracy
        case "seconds_to_target":
            found = to_target
        case "run_s":
            found = run_seconds(run)
        case "step_s":
            found = measures.step_s if measures else None
        case "samples_per_s":
            found = speed
        case "communication_s":
            found = measures.parts.get(COMMUNICATION_S) if measures else None
        case name:
            found = run.latest.get(name)
    return found if found is not None and math.isfinite(found) else None


def _seconds(name: str) -> AnswerFigure:
    return AnswerFigure(name=name, title=SECONDS[name], unit=FigureUnit.SECONDS, higher_is_better=False)


def goals_of(spec: ExperimentSpec | RecordedExperiment) -> Goals:
    """Return the metric that a search improves, and whether its highest value is the best one."""
    search = spec.search if isinstance(spec, ExperimentSpec) else None
    return {search.metric: search.maximizes} if search else {}


def own_names(runs: Iterable[RunView]) -> list[str]:
    """Return the names of the series that a user's program logged, not the engine."""
    names = dict.fromkeys(name for run in runs for name in run.latest)
    engine = {*EVERY_STEP, *EVERY_EPOCH, *TIME_DETAILS}
    own = [name for name in names if not is_secondary(name) and name not in engine]
    return [name for name in own if not name.startswith("checkpoint_")]


def has_share_accuracies(runs: Iterable[RunView]) -> bool:
    """Return whether the accuracies are shares of 1; a program may report them in percent."""
    return all(run.best_accuracy is None or 0 <= run.best_accuracy <= 1 for run in runs)


def _newest(name: str, runs: Sequence[RunView], goals: Goals) -> AnswerFigure:
    """Return the newest value of a series as a figure."""
    unit = FigureUnit.SHARE if SHARE.search(name) and _is_share(name, runs) else FigureUnit.NUMBER
    is_high = goals.get(name, IS_HIGH[direction_of(name)])
    return AnswerFigure(name=name, title=LOSSES.get(name, f"last {name}"), unit=unit, higher_is_better=is_high)


def _is_share(name: str, runs: Sequence[RunView]) -> bool:
    values = [value for run in runs if (value := run.latest.get(name)) is not None]
    return all(0 <= value <= 1 for value in values)


def _names(run: RunView, measures: Measures | None) -> Iterator[str]:
    """Yield the names of the figures that a run has, without its speed and its time to the target."""
    yield from (name for name, value in run.latest.items() if value is not None and name not in OF_MEANS)
    if run.best_accuracy is not None:
        yield BEST_ACCURACY
    if run_seconds(run) is not None:
        yield RUN_S
    if measures and measures.parts:
        yield STEP_S
        yield from measures.parts

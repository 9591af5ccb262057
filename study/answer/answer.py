"""The answer of an experiment: its figure over its axes, with times to one accuracy and speed-ups over a baseline."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from contract.api.answer import Answer, AnswerFigure, LeftOutRun
from contract.api.responses import RunView
from contract.lifecycle.state import ENDED, State
from contract.metric_names import HELDOUT_ACCURACY
from contract.objective import StoredObjective
from contract.spec.experiment import ExperimentSpec
from contract.spec.recorded.run import RecordedExperiment
from study.answer.absent import without_figure
from study.answer.axes import find_axes
from study.answer.figures import (
    choose_figure,
    find_figures,
    has_share_accuracies,
    metric_of_best,
    question_of,
)
from study.answer.groups import counted_runs, group_runs, group_view, lay_out
from study.answer.joined_axes import joined_notes
from study.answer.known import NONE, Known
from study.answer.measures import Measures
from study.answer.sentence import result_sentence
from study.answer.speed import Speed, common_target, speed_over, trials_of
from study.spread import repeated_field

MOST_NOTES = 5
# the best values of the runs of a metric: its name, and whether the greatest value is the best one
BestValues = Callable[[str, bool], Mapping[int, float]]


@dataclass(frozen=True)
class Choice:
    """What a reader asks for; None: the default."""

    figure: str | None = None
    target: float | None = None
    baseline: int | None = None  # index of a group


def find_answer(
    spec: ExperimentSpec | RecordedExperiment,
    runs: Sequence[RunView],
    measures: Mapping[int, Measures],
    choice: Choice,
    samples_per_s: Mapping[int, float] = NONE,
    best_values: BestValues = lambda _name, _is_high: NONE,
    objective: StoredObjective | None = None,
) -> Answer:
    """Return the answer; runs without `measures` have neither a step time nor a time to the target.

    `samples_per_s`: the mean samples per second of the steps of each run that has some. `best_values` is called for the
    held-out accuracy and the metric of which the answer shows the best value; `objective`: if not of the spec.
    Raise ValueError for a figure that no run has, or a baseline that is no group.
    """
    left_out, kept, runs = _parted(runs)
    unfinished, question = sum(run.state not in ENDED for run in runs), question_of(spec, objective)
    layout = lay_out(axes := find_axes(spec, runs, over := repeated_field(runs)))
    sound = [run for run in runs if run.diverged is None]
    accuracies = best_values(HELDOUT_ACCURACY, True)
    known = _with_trials(sound, Known(measures, samples_per_s, {}, choice.target, accuracies=accuracies))
    figures = find_figures(sound, known, question)
    figure = _asked_figure(figures, choice.figure) or choose_figure(figures, axes, layout.picture, question)
    known, grouped = replace(known, best=_best_of(figure, known, best_values)), group_runs(runs, layout)
    speeds = _speeds(grouped, known, over, choice.baseline)
    groups = [group_view(members, layout, figure, known, speed) for members, speed in zip(grouped, speeds, strict=True)]
    sentence = result_sentence(layout, figure, groups, over, known.target, goes_on=unfinished > 0)
    return Answer(
        picture=layout.picture,
        sentence=sentence or without_figure(spec, runs, len(left_out)),
        figure=figure,
        figures=figures,
        over=over,
        x=layout.x.view() if layout.x else None,
        y=layout.y.view() if layout.y else None,
        groups=groups,
        target=known.target,
        baseline=None if known.target is None or not grouped else choice.baseline or 0,
        diverged=len(runs) - len(sound),
        failed=sum(run.state is State.FAILED for run in sound),
        archived=len(kept) - len(runs),
        left_out=left_out,
        unfinished=unfinished,
        notes=[*joined_notes(layout.x, layout.y), *_remarks(speeds)][:MOST_NOTES],
    )


def _parted(runs: Sequence[RunView]) -> tuple[list[LeftOutRun], list[RunView], list[RunView]]:
    """Return the runs that people left out, the others, and those of them that are not archived, unless all are."""
    left_out = [LeftOutRun(run=run.id, reason=run.left_out) for run in runs if run.left_out is not None]
    kept = [run for run in runs if run.left_out is None]
    return left_out, kept, [run for run in kept if run.archived_at is None] or kept


def _speeds(groups: Sequence[Sequence[RunView]], known: Known, over: str | None, baseline: int | None) -> list[Speed]:
    """Return the speed of each group over the baseline's; without a target or a second group none."""
    if baseline is not None and baseline >= len(groups):
        raise ValueError(f"there is no group {baseline}: the picture has {len(groups)}")
    if known.target is None or len(groups) < 2:
        return [Speed()] * len(groups)
    counted = [counted_runs(group)[0] for group in groups]
    first = counted[baseline or 0]
    return [
        Speed() if number == (baseline or 0) else speed_over(first, runs, known.trials, known.target, over)
        for number, runs in enumerate(counted)
    ]


def _with_trials(runs: Sequence[RunView], known: Known) -> Known:
    """Return what is known with the evaluations of the runs, and the target that all of them reached."""
    trials = trials_of(runs, known.measures) if has_share_accuracies(runs, known) else {}
    target = common_target(list(trials.values())) if known.target is None else known.target
    return replace(known, trials=trials, target=target)


def _best_of(figure: AnswerFigure | None, known: Known, best_values: BestValues) -> Mapping[int, float]:
    metric = metric_of_best(figure.name) if figure else None
    if figure is None or metric is None:
        return NONE
    is_high = figure.higher_is_better is True
    return known.accuracies if metric == HELDOUT_ACCURACY and is_high else best_values(metric, is_high)


def _remarks(speeds: Sequence[Speed]) -> list[str]:
    return list(dict.fromkeys(remark for speed in speeds for remark in speed.remarks))


def _asked_figure(figures: Sequence[AnswerFigure], name: str | None) -> AnswerFigure | None:
    """Return the figure that a reader asks for; raise ValueError if no run has it."""
    by_name = {one.name: one for one in figures}
    found = None if name is None else by_name.get(name)
    if name is not None and found is None:
        there_are = ", ".join(figure.name for figure in figures) or "none"
        raise ValueError(f"no run has the figure {name!r}; there are {there_are}")
    return found

"""The answer of an experiment: its figure over its axes, with times to one accuracy and speed-ups over a baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract.api.answer import Answer, AnswerFigure, LeftOutRun
from contract.api.responses import RunView
from contract.lifecycle.state import ENDED, State
from contract.spec.experiment import ExperimentSpec
from contract.spec.recorded.run import RecordedExperiment
from study.answer.absent import without_figure
from study.answer.axes import find_axes
from study.answer.figures import choose_figure, find_figures, goals_of, has_share_accuracies
from study.answer.groups import Known, counted_runs, group_runs, group_view, lay_out
from study.answer.joined_axes import joined_notes
from study.answer.measures import Measures
from study.answer.sentence import result_sentence
from study.answer.speed import Speed, common_target, speed_over, trials_of
from study.spread import repeated_field

MOST_NOTES = 5
NO_SPEEDS: Mapping[int, float] = {}


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
    samples_per_s: Mapping[int, float] = NO_SPEEDS,
) -> Answer:
    """Return the answer; runs without `measures` have neither a step time nor a time to the target.

    `samples_per_s`: the mean samples per second of the steps of each run that has some.
    Raise ValueError for a figure that no run has, or a baseline that is no group.
    """
    left_out = [LeftOutRun(run=run.id, reason=run.left_out) for run in runs if run.left_out is not None]
    kept = [run for run in runs if run.left_out is None]
    runs = [run for run in kept if run.archived_at is None] or kept
    over, goals = repeated_field(runs), goals_of(spec)
    layout = lay_out(axes := find_axes(spec, runs, over))
    sound = [run for run in runs if run.diverged is None]
    trials = trials_of(sound, measures) if has_share_accuracies(sound) else {}
    target = common_target(list(trials.values())) if choice.target is None else choice.target
    known = Known(measures, samples_per_s, trials, target)
    figures = find_figures(sound, measures, samples_per_s, known.to_target, goals)
    figure = _asked_figure(figures, choice.figure) or choose_figure(figures, axes, layout.picture, goals)
    grouped = group_runs(runs, layout)
    speeds = _speeds(grouped, known, over, choice.baseline)
    groups = [group_view(members, layout, figure, known, speed) for members, speed in zip(grouped, speeds, strict=True)]
    remarks = [remark for speed in speeds for remark in speed.remarks]
    return Answer(
        picture=layout.picture,
        sentence=result_sentence(layout, figure, groups, over, target) or without_figure(spec, runs, len(left_out)),
        figure=figure,
        figures=figures,
        over=over,
        x=layout.x.view() if layout.x else None,
        y=layout.y.view() if layout.y else None,
        groups=groups,
        target=target,
        baseline=None if target is None or not grouped else choice.baseline or 0,
        diverged=len(runs) - len(sound),
        failed=sum(run.state is State.FAILED for run in sound),
        archived=len(kept) - len(runs),
        left_out=left_out,
        unfinished=sum(run.state not in ENDED for run in runs),
        notes=[*joined_notes(layout.x, layout.y), *dict.fromkeys(remarks)][:MOST_NOTES],
    )


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


def _asked_figure(figures: Sequence[AnswerFigure], name: str | None) -> AnswerFigure | None:
    """Return the figure that a reader asks for; raise ValueError if no run has it."""
    found = next((one for one in figures if one.name == name), None)
    if name is not None and found is None:
        there_are = ", ".join(figure.name for figure in figures) or "none"
        raise ValueError(f"no run has the figure {name!r}; there are {there_are}")
    return found

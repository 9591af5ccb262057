"""The answer of an experiment: its figure over its axes, with times to one accuracy and speed-ups over a baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract.api.answer import Answer, AnswerFigure
from contract.api.responses import RunView
from contract.lifecycle.state import ENDED, State
from contract.spec.experiment import ExperimentSpec
from contract.spec.recorded.run import RecordedExperiment
from study.answer.absent import not_finite_notes, without_figure
from study.answer.axes import find_axes
from study.answer.figures import choose_figure, find_figures, goals_of, has_share_accuracies
from study.answer.groups import Known, counted_runs, group_runs, group_view, lay_out
from study.answer.joined_axes import joined_notes
from study.answer.measures import Measures
from study.answer.sentence import result_sentence
from study.answer.speed import Speed, common_target, speed_over, trials_of
from study.spread import repeated_field

MOST_NOTES = 5


@dataclass(frozen=True)
class Choice:
    """What a reader asks for; None: the default."""

    figure: str | None = None
    target: float | None = None
    baseline: int | None = None  # index of a group


def find_answer(
    spec: ExperimentSpec | RecordedExperiment, runs: Sequence[RunView], measures: Mapping[int, Measures], choice: Choice
) -> Answer:
    """Return the answer; runs without `measures` have neither a step time nor a time to the target.

    Raise ValueError for a figure that no run has, or a baseline that is no group.
    """
    all_runs, runs = runs, [run for run in runs if run.archived_at is None] or runs
    over, goals = repeated_field(runs), goals_of(spec)
    layout = lay_out(axes := find_axes(spec, runs, over))
    sound = [run for run in runs if run.diverged is None]
    trials = trials_of(sound, measures) if has_share_accuracies(sound) else {}
    target = common_target(list(trials.values())) if choice.target is None else choice.target
    known = Known(measures, trials, target)
    figures = find_figures(sound, measures, known.to_target, goals)
    figure = choose_figure(figures, axes, layout.picture, goals)
    if choice.figure is not None:
        figure = next((one for one in figures if one.name == choice.figure), None)
        if figure is None:
            raise ValueError(f"no run has the figure {choice.figure!r}; there are {_names(figures)}")
    grouped = group_runs(runs, layout)
    speeds = _speeds(grouped, known, over, choice.baseline)
    groups = [group_view(members, layout, figure, known, speed) for members, speed in zip(grouped, speeds, strict=True)]
    remarks = [remark for speed in speeds for remark in speed.remarks]
    return Answer(
        picture=layout.picture,
        sentence=result_sentence(layout, figure, groups, over, target) or without_figure(spec, runs),
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
        archived=len(all_runs) - len(runs),
        unfinished=sum(run.state not in ENDED for run in runs),
        notes=[*not_finite_notes(runs), *joined_notes(layout.x, layout.y), *dict.fromkeys(remarks)][:MOST_NOTES],
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


def _names(figures: Sequence[AnswerFigure]) -> str:
    return ", ".join(figure.name for figure in figures) or "none"

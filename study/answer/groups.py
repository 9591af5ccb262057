"""The places of a picture: runs that differ in the seed alone, and the spread of their figures."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from contract.api.answer import AnswerFigure, AnswerGroup, FigureSpread, Picture
from contract.api.responses import RunView
from contract.lifecycle.state import State
from study.answer.axes import Axis, is_batch
from study.answer.figures import has_share_accuracies, value_of
from study.answer.joined_axes import join
from study.answer.known import Known
from study.answer.measures import Measures
from study.answer.speed import Speed


@dataclass(frozen=True)
class Layout:
    """Which axis a picture draws where."""

    picture: Picture
    x: Axis | None = None
    y: Axis | None = None
    labels: Sequence[Axis] = ()  # their texts name the lines, maps or bars

    def place_of(self, run: RunView) -> tuple[str, float | None, float | None]:
        """Return the label and the coordinates of a run."""
        texts = [axis.label_of(run.values) for axis in self.labels]
        if len(texts) > 1:
            is_text = [axis.numbers is None for axis in self.labels]
            named = zip(self.labels, texts, is_text, strict=True)
            texts = [text if plain else f"{axis.name} {text}" for axis, text, plain in named]
            # the comma between two texts must not be one of a text
            texts = [json.dumps(text) if ", " in text else text for text in texts]
        elif self.labels and self.labels[0].numbers is not None:
            texts = [f"{self.labels[0].name} {texts[0]}"]
        x, y = (axis.number_of(run.values) if axis else None for axis in (self.x, self.y))
        return ", ".join(texts), x, y


def lay_out(axes: Sequence[Axis]) -> Layout:
    """Return the picture for these axes: the first numeric ones are its coordinates, the others name its parts."""
    numeric = sorted((axis for axis in axes if axis.numbers), key=lambda axis: not is_batch(axis.path))
    x, y = [*numeric, None, None][:2]
    labels = [axis for axis in axes if axis not in (x, y)]
    if x is None:
        return Layout(Picture.BARS if axes else Picture.SINGLE, labels=labels)
    return Layout(Picture.HEAT_MAP if y else Picture.LINES, join(x), join(y), labels)


def group_runs(runs: Sequence[RunView], layout: Layout) -> list[list[RunView]]:
    """Return the runs of each place of the picture, in the order of the grid."""
    groups: dict[tuple[str, float | None, float | None], list[RunView]] = {}
    for run in runs:
        groups.setdefault(layout.place_of(run), []).append(run)
    return list(groups.values())


def group_view(
    runs: Sequence[RunView], layout: Layout, figure: AnswerFigure | None, known: Known, speed: Speed
) -> AnswerGroup:
    """Return a place of the picture with the spread of its figures."""
    label, x, y = layout.place_of(runs[0])
    counted, is_preliminary = counted_runs(runs)

    def spread(value: Callable[[RunView], float | None]) -> FigureSpread | None:
        return spread_of([found for run in counted if (found := value(run)) is not None])

    def of(one: AnswerFigure) -> FigureSpread | None:
        return spread(lambda run: value_of(one, run, known))

    to_target = spread(lambda run: known.to_target.get(run.id))
    return AnswerGroup(
        label=label,
        x=x,
        y=y,
        runs=[run.id for run in runs],
        done=sum(run.state is State.DONE for run in runs),
        diverged=sum(run.diverged is not None for run in runs),
        is_preliminary=is_preliminary,
        figure=of(figure) if figure else None,
        accuracy=spread(lambda run: known.accuracies.get(run.id)) if has_share_accuracies(runs, known) else None,
        parts=_mean_parts([known.measures[run.id] for run in counted if run.id in known.measures]),
        to_target=to_target if to_target and to_target.count == len(counted) else None,
        speedup=speed.speedup,
        refusals=list(speed.refusals),
    )


def counted_runs(runs: Sequence[RunView]) -> tuple[list[RunView], bool]:
    """Return the runs whose figures count, and whether they are preliminary, because none of them is done."""
    sound = [run for run in runs if run.diverged is None]
    done = [run for run in sound if run.state is State.DONE]
    return (done, False) if done else (sound, bool(sound))


def spread_of(values: Sequence[float]) -> FigureSpread | None:
    """Return mean and deviation of the values; None without any."""
    if not values:
        return None
    deviation = stdev(values) if len(values) > 1 else None
    return FigureSpread(count=len(values), mean=fmean(values), deviation=deviation, least=min(values), most=max(values))


def _mean_parts(measures: Sequence[Measures]) -> dict[str, float]:
    names = dict.fromkeys(name for one in measures for name in one.parts)
    return {name: fmean(one.parts.get(name, 0.0) for one in measures if one.parts) for name in names}

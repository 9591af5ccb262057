"""One sentence of result in plain words."""

from collections.abc import Sequence

from contract.api.answer import AnswerFigure, AnswerGroup, FigureSpread, FigureUnit, Picture
from contract.metric_names import COMMUNICATION_S
from study.answer.figures import ACCURACY_FIGURE, STEP_S, TO_TARGET
from study.answer.groups import Layout
from study.answer.methods import compare_methods, joint_deviation, lone_runs
from study.answer.texts import figure_text, seconds_text, spread_text

MOST_BEST = 6  # places of an axis whose best value the sentence of a heat map lists
ALIKE = 0.01  # accuracies within one percentage point count as equal


def result_sentence(
    layout: Layout,
    figure: AnswerFigure | None,
    groups: Sequence[AnswerGroup],
    over: str | None,
    target: float | None,
    *,
    goes_on: bool,
) -> str | None:
    """Return the result; None without a figure. `goes_on`: whether runs have not ended, and may change the result."""
    measured = [group for group in groups if group.figure]
    if figure is None or not measured:
        return None
    if figure.name == TO_TARGET and target is not None:
        figure = figure.model_copy(update={"title": f"time to {figure_text(target, FigureUnit.SHARE)}"})
    cells = _cells(layout, figure, measured)
    match layout.picture:
        case Picture.SINGLE:
            text = _single(figure, measured[0], over)
        case Picture.LINES | Picture.HEAT_MAP if cells and layout.x:
            text = compare_methods(figure, layout.x, cells)
            text += f", each at its best {layout.y.name}" if layout.y and figure.higher_is_better is not None else ""
        case _ if figure.higher_is_better is None:
            text = _from_to(layout, figure, measured)
        case Picture.LINES:
            text = _line(layout, figure, measured)
        case Picture.HEAT_MAP:
            text = _best_by_x(layout, figure, measured)
        case Picture.BARS:
            text = _bars(figure, measured)
    means = _means(over if layout.picture is not Picture.SINGLE else None, lone_runs(figure, cells))
    none_done = all(group.is_preliminary for group in measured)
    so_far = f" ({'so far: ' if goes_on else ''}no run is done)" if none_done else ""
    return text + means + so_far + "."


def _means(over: str | None, lone: str | None) -> str:
    """Return over what means are taken, and what is known of their spread."""
    means = f"; means over {over.split('.')[-1]}" if over else ""
    if lone:
        return f"{means}; {lone}"
    return f"{means}, a lead is more than the deviation of both" if means and lone is not None else means


def _cells(layout: Layout, figure: AnswerFigure, groups: Sequence[AnswerGroup]) -> dict[str, dict[float, FigureSpread]]:
    """Return the figures of several lines or maps at each place of x, of a map the best one; without them nothing."""
    labels = dict.fromkeys(group.label for group in groups)
    if layout.x is None or len(labels) < 2 or (layout.y and figure.higher_is_better is None):
        return {}
    cells: dict[str, dict[float, FigureSpread]] = {}
    for label in labels:
        own = [group for group in groups if group.label == label]
        for x in sorted({group.x for group in own if group.x is not None}):
            cells.setdefault(label, {})[x] = _figure(_best(figure, [group for group in own if group.x == x]))
    return cells


def _single(figure: AnswerFigure, group: AnswerGroup, over: str | None) -> str:
    value = spread_text(_figure(group), figure)
    if over:
        return f"The {figure.title} is {value} over {_figure(group).count} runs with different values of {over}"
    after = f", reached after {seconds_text(group.to_target.mean)} of training" if group.to_target else ""
    after = after if figure.name == ACCURACY_FIGURE.name else ""
    step = f"; a step takes {seconds_text(sum(group.parts.values()))}" if group.parts else ""
    return f"The {figure.title} of run {group.runs[0]} is {value}{after}{step}"


def _line(layout: Layout, figure: AnswerFigure, groups: Sequence[AnswerGroup]) -> str:
    best = _best(figure, groups)
    word = "highest" if figure.higher_is_better else "lowest"
    text = f"The {figure.title} is {word} at {_place(layout, best)}: {spread_text(_figure(best), figure)}"
    line = sorted(groups, key=lambda group: group.x or 0)
    ends = [group for group in (line[0], line[-1]) if group is not best]
    others = [f"{figure_text(_figure(group).mean, figure.unit)} at {_place(layout, group)}" for group in ends]
    return f"{text}; {' and '.join(others)}" if others else text


def _from_to(layout: Layout, figure: AnswerFigure, groups: Sequence[AnswerGroup]) -> str:
    """Return the least and the greatest figure, where nobody knows which is the better one."""
    least, most = (pick(groups, key=lambda group: _figure(group).mean) for pick in (min, max))
    if len(groups) == 1:
        return f"The {figure.title} at {_place(layout, least)} is {spread_text(_figure(least), figure)}"
    ends = " to ".join(f"{spread_text(_figure(one), figure)} {_at(layout, one)}" for one in (least, most))
    return f"The {figure.title} goes from {ends}; its name does not say whether higher or lower is better"


def _best_by_x(layout: Layout, figure: AnswerFigure, groups: Sequence[AnswerGroup]) -> str:
    assert layout.x
    assert layout.y
    best = _best(figure, groups)
    columns = sorted({group.x for group in groups if group.x is not None})
    if len(columns) > MOST_BEST:
        word = "highest" if figure.higher_is_better else "lowest"
        return f"The {figure.title} is {word} at {_place(layout, best)}: {spread_text(_figure(best), figure)}"
    tops = [_best(figure, [group for group in groups if group.x == column]) for column in columns]
    rates, means = layout.y.number_texts, [figure_text(_figure(top).mean, figure.unit) for top in tops]
    pairs = zip(tops, means, strict=True)
    found = [f"{rates[top.y or 0]} at {layout.x.text_of(top.x)} ({mean})" for top, mean in pairs]
    return f"The {layout.y.name} with the best {figure.title.removeprefix('best ')} is {', '.join(found)}"


def _bars(figure: AnswerFigure, groups: Sequence[AnswerGroup]) -> str:
    ordered = sorted(groups, key=lambda group: _figure(group).mean, reverse=figure.higher_is_better is True)
    first, last = ordered[0], ordered[-1]
    if len(ordered) == 1:
        return f"The {figure.title} with {first.label} is {spread_text(_figure(first), figure)}"
    if figure.name == STEP_S:
        return "; ".join([_step_times(first, last), *_communication(groups), *_accuracies(groups)])
    word = "highest" if figure.higher_is_better else "lowest"
    text = f"The {figure.title} is {word} with {first.label}, {spread_text(_figure(first), figure)}"
    if _is_within_deviation(_figure(first), _figure(ordered[1])):
        text += f" (its lead over {ordered[1].label} is within one deviation)"
    other = "lowest" if figure.higher_is_better else "highest"
    return f"{text}, and {other} with {last.label}, {spread_text(_figure(last), figure)}"


def _step_times(first: AnswerGroup, last: AnswerGroup) -> str:
    times = [seconds_text(_figure(one).mean) for one in (first, last)]
    return f"A step takes from {times[0]} with {first.label} to {times[1]} with {last.label}"


def _communication(groups: Sequence[AnswerGroup]) -> list[str]:
    found = [group.parts[COMMUNICATION_S] for group in groups if COMMUNICATION_S in group.parts]
    if not any(found):
        return []
    least, most = seconds_text(min(found)), seconds_text(max(found))
    return [f"communication takes {least} to {most} of it"]


def _accuracies(groups: Sequence[AnswerGroup]) -> list[str]:
    found = [group.accuracy.mean for group in groups if group.accuracy]
    if len(found) < 2:
        return []
    least, most = (figure_text(value, FigureUnit.SHARE) for value in (min(found), max(found)))
    if max(found) - min(found) < 1e-9:
        return [f"all reach the same accuracy, {most}"]
    word = (
        "the accuracies agree within a percentage point" if max(found) - min(found) < ALIKE else "the accuracies differ"
    )
    return [f"{word}: {least} to {most}"]


def _best(figure: AnswerFigure, groups: Sequence[AnswerGroup]) -> AnswerGroup:
    sign = 1 if figure.higher_is_better else -1
    return max(groups, key=lambda group: sign * _figure(group).mean)


def _figure(group: AnswerGroup) -> FigureSpread:
    assert group.figure
    return group.figure


def _at(layout: Layout, group: AnswerGroup) -> str:
    """Return "at batch 256", or "with lars" where no axis has numbers."""
    return f"at {_place(layout, group)}" if layout.x else f"with {group.label}"


def _place(layout: Layout, group: AnswerGroup) -> str:
    """Return "batch 256, rate 0.4 with lars"."""
    axes = ((layout.x, group.x), (layout.y, group.y))
    place = ", ".join(axis.text_of(value) for axis, value in axes if axis)
    return f"{place} with {group.label}" if group.label else place


def _is_within_deviation(one: FigureSpread, other: FigureSpread) -> bool:
    deviation = joint_deviation(one, other)
    return deviation is not None and abs(one.mean - other.mean) < deviation

"""Methods beside each other at equal places of a numeric axis: who is ahead where, what is a tie, who falls behind.

A method is ahead at a place if its mean is better than every other by more than the deviation of both. A setting with
one run has no deviation: that of the other one counts for both, and without any each difference is a lead, which the
sentence says at its end. Figures at different places are never compared.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from contract.api.answer import AnswerFigure, FigureSpread
from study.answer.axes import Axis
from study.answer.texts import figure_text

MOST_METHODS = 6  # whose falling behind is told
MOST_SPANS = 6  # of equal order that are told one by one
MOST_MISSING = 3  # places without a method that are told

Cells = Mapping[str, Mapping[float, FigureSpread]]  # by method and place


@dataclass(frozen=True)
class Standing:
    """The order of the methods at one place of the axis."""

    x: float
    spreads: Mapping[str, FigureSpread]
    ranked: Sequence[str]  # best first

    @cached_property
    def ahead(self) -> tuple[str, ...]:
        """The best method, and those that are not behind it."""
        best = self.ranked[0]
        return tuple(name for name in self.spreads if name == best or not self.is_behind(name))

    def is_behind(self, method: str) -> bool:
        """Return whether a method is worse than the best by more than the deviation of both, if one is known."""
        one, best = self.spreads[method], self.spreads[self.ranked[0]]
        return abs(one.mean - best.mean) > (joint_deviation(one, best) or 0.0)

    @property
    def gap(self) -> float:
        """The distance of the two best means."""
        return abs(self.spreads[self.ranked[0]].mean - self.spreads[self.ranked[1]].mean)


def compare_methods(figure: AnswerFigure, axis: Axis, cells: Cells) -> str:
    """Return which methods are ahead where; without a place that two of them share, that nothing is comparable."""
    standings = list(_standings(figure, cells))
    by = f"By the {figure.title}"
    if not standings:
        methods = " and ".join(cells) if len(cells) == 2 else "two lines"
        return f"{by} nothing is comparable: no {axis.name} has a figure of {'both ' * (len(cells) == 2)}{methods}"
    if figure.higher_is_better is None:
        return _ranges(figure, axis, standings)
    spans = [(ahead, list(members)) for ahead, members in groupby(standings, key=lambda one: one.ahead)]
    parts = [_orders(figure, axis, spans)]
    if 2 < len(cells) <= MOST_METHODS:
        parts += [text for method in cells if (text := _falls_behind(axis, standings, method))]
    parts += _missing(axis, cells)
    return f"{by}, {'; '.join(parts)}"


def _ranges(figure: AnswerFigure, axis: Axis, standings: Sequence[Standing]) -> str:
    """Return the least and the greatest figure at the first and the last place: it is unknown which is better."""
    shown = [standings[0], standings[-1]] if len(standings) > 1 else standings
    texts = []
    for one in shown:
        ends = [(figure_text(one.spreads[name].mean, figure.unit), name) for name in (one.ranked[0], one.ranked[-1])]
        texts.append(f"from {' to '.join(f'{text} with {name}' for text, name in ends)} at {axis.text_of(one.x)}")
    return f"The {figure.title} goes {', '.join(texts)}; its name does not say whether higher or lower is better"


def joint_deviation(one: FigureSpread, other: FigureSpread) -> float | None:
    """Return the deviation of both; a known one counts for both where the other is unknown, None without any."""
    known = [spread.deviation for spread in (one, other) if spread.deviation is not None]
    return math.hypot(known[0], known[-1]) if known else None


def lone_runs(figure: AnswerFigure, cells: Cells) -> str | None:
    """Return that some or all compared settings have one run; "" if none has, None where no lead is told."""
    if figure.higher_is_better is None:
        return None
    compared = [spread.deviation for one in _standings(figure, cells) for spread in one.spreads.values()]
    if not compared:
        return None
    if all(deviation is None for deviation in compared):
        return "each setting has one run, so the spread is unknown"
    return "some settings have one run, so their spread is unknown" if None in compared else ""


def _standings(figure: AnswerFigure, cells: Cells) -> Iterator[Standing]:
    sign = -1 if figure.higher_is_better else 1
    for x in sorted({x for places in cells.values() for x in places}):
        spreads = {method: places[x] for method, places in cells.items() if x in places}
        if len(spreads) > 1:
            ranked = sorted(spreads, key=lambda method: sign * spreads[method].mean)
            yield Standing(x, spreads, ranked)


Spans = Sequence[tuple[tuple[str, ...], Sequence[Standing]]]


def _orders(figure: AnswerFigure, axis: Axis, spans: Spans) -> str:
    if len(spans) <= MOST_SPANS:
        texts = [_order(figure, axis, spans, number) for number in range(len(spans))]
        return ", ".join(texts)
    ends = [_order(figure, axis, spans, number) for number in (0, len(spans) - 1)]
    return f"{', '.join(ends)}; between, the order changes {len(spans) - 1} times"


def _order(figure: AnswerFigure, axis: Axis, spans: Spans, number: int) -> str:
    ahead, members = spans[number]
    where = _where(axis, members, is_first=number == 0, is_last=number == len(spans) - 1)
    if len(ahead) > 1:
        verb = "are a tie" if len(ahead) == 2 else "are tied"
        return f"{_listed(ahead)} {verb} {where} ({_figures_at(figure, axis, members[-1], ahead[:2], members)})"
    shown = max(members, key=lambda one: one.gap)
    return f"{ahead[0]} is ahead {where} ({_figures_at(figure, axis, shown, shown.ranked[:2], members)})"


def _figures_at(
    figure: AnswerFigure, axis: Axis, shown: Standing, methods: Sequence[str], members: Sequence[Standing]
) -> str:
    """Return "90.00 % against 82.00 % with sgd at batch 1024", without what is clear."""
    first, second = (figure_text(shown.spreads[method].mean, figure.unit) for method in methods)
    named = f" with {methods[1]}" if len(shown.spreads) > 2 else ""
    place = f" at {axis.text_of(shown.x)}" if len(members) > 1 else ""
    return f"{first} against {second}{named}{place}"


def _where(axis: Axis, members: Sequence[Standing], *, is_first: bool, is_last: bool) -> str:
    first, last = axis.text_of(members[0].x), axis.text_of(members[-1].x)
    if is_first and is_last and len(members) > 1:
        return f"at each {axis.name} from {axis.number_texts[members[0].x]} to {axis.number_texts[members[-1].x]}"
    if len(members) == 1:
        return f"at {first}"
    if is_first:
        return f"up to {last}"
    return f"from {first} on" if is_last else f"from {first} to {axis.number_texts[members[-1].x]}"


def _falls_behind(axis: Axis, standings: Sequence[Standing], method: str) -> str:
    """Return from where on a method is behind the best one up to the end; nothing for one that is not."""
    own = [one for one in standings if method in one.spreads]
    since: float | None = None
    for one in reversed(own):
        if method in one.ahead:
            break
        since = one.x
    if since is None:
        return ""
    if since == own[0].x:
        return f"{method} is behind {'everywhere' if len(own) > 1 else f'at {axis.text_of(since)}'}"
    return (
        f"{method} falls behind from {axis.text_of(since)} on"
        if since != own[-1].x
        else (f"{method} falls behind at {axis.text_of(since)}")
    )


def _missing(axis: Axis, cells: Cells) -> list[str]:
    """Return the places at which a method has no figure, although another has."""
    xs = sorted({x for places in cells.values() for x in places})
    found = []
    for method, places in cells.items():
        absent = [axis.number_texts[x] for x in xs if x not in places]
        if absent:
            more = f" and {len(absent) - MOST_MISSING} more" if len(absent) > MOST_MISSING else ""
            found.append(f"{method} has no figure at {axis.name} {', '.join(absent[:MOST_MISSING])}{more}")
    return found if len(found) <= MOST_MISSING else [f"{len(found)} of {len(cells)} lines lack some figures"]


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]])

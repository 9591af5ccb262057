"""The critical path of a workflow: the chain of steps that decides when it ends, and the predicted moments."""

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple


class TimedStep(NamedTuple):
    """A step with its times, in seconds since the same moment."""

    name: str
    needs: Sequence[str]
    begun: float | None  # when it got its runs; None: it waits
    ended: float | None  # None: it goes on
    duration: float | None  # of the whole step; None: unknown
    has_runs: bool = True  # False: it was skipped, or ended without runs


class Schedule(NamedTuple):
    """When the steps end, and which of them decide when the last one does."""

    ends: Mapping[str, float | None]  # None: not known
    critical: Sequence[str]  # from the first step to the last


def schedule(steps: Sequence[TimedStep], now: float) -> Schedule:
    """Return the end of each step, by its own or by its expected duration, and the critical path.

    A step begins when the last step that it needs ends. Where durations are unknown the path goes through the longest
    known ones, and counts an unknown one as nothing.
    """
    by_name = {step.name: step for step in steps}
    ends: dict[str, float | None] = {}
    weights: dict[str, float] = {}  # the least end, with unknown durations as zero
    before: dict[str, str | None] = {}
    order = list(TopologicalSorter({step.name: step.needs for step in steps}).static_order())
    for name in order:
        step = by_name[name]
        latest = max(step.needs, key=lambda need: (weights[need], ends[need] is None, order.index(need)), default=None)
        before[name] = latest
        ends[name] = known = _end(step, [ends[need] for need in step.needs], now)
        begun = step.begun if step.begun is not None else max(now, weights[latest] if latest else now)
        weights[name] = known if known is not None else max(now, begun + (step.duration or 0.0))
    # of equal ends the one behind more steps
    last = max(order, key=lambda name: (by_name[name].has_runs, weights[name], order.index(name)), default=None)
    return Schedule(ends, _chain(last, before))


def _end(step: TimedStep, needs: Sequence[float | None], now: float) -> float | None:
    if step.ended is not None:
        return step.ended
    if step.duration is None:
        return None
    if step.begun is not None:
        return max(now, step.begun + step.duration)
    known = [end for end in needs if end is not None]
    return None if len(known) < len(needs) else max([now, *known]) + step.duration


def _chain(last: str | None, before: Mapping[str, str | None]) -> list[str]:
    chain: list[str] = []
    while last is not None:
        chain.append(last)
        last = before[last]
    return chain[::-1]

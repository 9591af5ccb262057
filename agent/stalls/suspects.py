"""Which ranks have stalled, and for which of them all others wait: a pure decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

BUSY_TIMES = 3  # a rank that computes while others wait for it has so many times the limit


class RankView(NamedTuple):
    """What is known of a rank; `idle_s` are the seconds since the last progress that was seen."""

    rank: int
    idle_s: float  # since its last step, batch, beginning or end of a collective, or logged point
    still_s: float  # since it did anything at all
    silent_s: float  # since its last note
    begun: int = 0  # collectives
    collective: str | None = None  # in which it is
    line: str = ""
    is_stopped: bool = False
    is_armed: bool = True  # it has made progress of the kind that is watched


class Stall(NamedTuple):
    """The ranks that stalled by themselves, and those that wait for them in a collective."""

    suspects: Sequence[RankView]
    waiting: Sequence[RankView]


def find_stall(views: Sequence[RankView], limit_s: float) -> Stall | None:
    """Return the stall of an attempt; None while a rank that others wait for makes progress.

    A stopped process comes first, then a rank that is in no collective, then the ranks that are behind the others.
    """
    waiting = [view for view in views if view.collective is not None and not _is_frozen(view, limit_s)]
    still = [view for view in views if _has_stalled(view, limit_s, is_awaited=bool(waiting))]
    suspects = [view for view in still if _is_frozen(view, limit_s)]
    suspects = suspects or [view for view in still if view.collective is None]
    if not suspects:
        if len(still) < len([view for view in views if view.is_armed]) or not still:
            return None  # the ranks wait for one that goes on
        suspects = _behind(still)
    ranks = {view.rank for view in suspects}
    return Stall(suspects, [view for view in waiting if view.rank not in ranks])


def _has_stalled(view: RankView, limit_s: float, *, is_awaited: bool) -> bool:
    if view.is_stopped:
        return view.silent_s >= limit_s
    if not view.is_armed or view.idle_s < limit_s:
        return False
    if view.collective is not None or view.still_s >= limit_s:
        return True
    return is_awaited and view.idle_s >= BUSY_TIMES * limit_s


def _is_frozen(view: RankView, limit_s: float) -> bool:
    """Return whether the process is stopped, or its host is: its notes have ended, and no process stops noting."""
    return view.is_stopped or view.silent_s >= limit_s


def _behind(views: Sequence[RankView]) -> list[RankView]:
    """Return the ranks that have begun fewer collectives than others, or are in another one; all if all are alike."""
    most = max(view.begun for view in views)
    late = [view for view in views if view.begun < most]
    if late:
        return late
    names = [view.collective for view in views]
    common = max(names, key=names.count)
    others = [view for view in views if view.collective != common]
    return others or list(views)

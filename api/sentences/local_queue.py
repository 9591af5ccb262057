"""The sentence for a queued run of this machine: what has its ranks, which runs come before it, and when it starts."""

from collections.abc import Sequence

from store.lists.local_queue import MAX_AHEAD, LocalQueue, QueuedRun

SHOWN = 5  # ids of runs


def local_queue_sentence(queue: LocalQueue, world: int, ranks: int) -> str:
    """Return why a run of `world` ranks waits on a machine of `ranks` ranks, without a full stop."""
    needs = f"needs {world} of this machine's {ranks} ranks"
    if world > ranks:
        needs = f"needs {world} ranks, more than this machine's {ranks}, so it runs alone"
    busy = sum(run.world for run in queue.live)
    parts = [f"waits: {needs}"]
    if queue.live:
        parts.append(f"{_runs(queue.live)} {'has' if len(queue.live) == 1 else 'have'} {busy}")
    if queue.ahead:
        parts.append(f"{_runs(queue.ahead)} {'comes' if len(queue.ahead) == 1 else 'come'} first")
    return "; ".join([*parts, *_start(queue, estimate_start_s(queue, world, ranks))])


def estimate_start_s(queue: LocalQueue, world: int, ranks: int) -> float | None:
    """Return in how many seconds the run starts if all runs keep the pace of their experiment; None if one has none.

    The oldest run starts as soon as its ranks are free, and no younger run overtakes it; a run with more ranks than the
    machine has runs alone (scheduler/submit/select.py).
    """
    ends: list[tuple[float, int]] = []
    for run in queue.live:
        if (left_s := _left_s(queue, run)) is None:
            return None
        ends.append((left_s, run.world))
    at_s = 0.0
    for run in queue.ahead:
        if len(queue.ahead) == MAX_AHEAD or (left_s := _left_s(queue, run)) is None:
            return None
        at_s = _next_start_s(ends, at_s, run.world, ranks)
        ends.append((at_s + left_s, run.world))
    return _next_start_s(ends, at_s, world, ranks)


def _next_start_s(ends: Sequence[tuple[float, int]], at_s: float, world: int, ranks: int) -> float:
    """Return when `world` ranks are free; `ends` has the end and the ranks of each run that started before."""
    for moment in sorted({at_s, *(end for end, _ in ends if end > at_s)}):
        busy = sum(taken for end, taken in ends if end > moment)
        if not busy or busy + world <= ranks:
            return moment
    return at_s


def _left_s(queue: LocalQueue, run: QueuedRun) -> float | None:
    pace = queue.step_s.get(run.experiment_id)
    return pace * max(0, run.steps - run.step) if pace is not None and run.steps else None


def _start(queue: LocalQueue, seconds: float | None) -> list[str]:
    if seconds is not None:
        return [f"it starts {_within(seconds)}"]
    ends = [_left_s(queue, run) for run in queue.live]
    known = [end for end in ends if end is not None]
    has_all = known and len(known) == len(ends)
    last = [f"{_runs(queue.live)} {'ends' if len(ends) == 1 else 'end'} {_within(max(known))}"] if has_all else []
    return [*last, "when it starts is not known before the runs ahead of it have trained some steps"]


def _within(seconds: float) -> str:
    if seconds < 60:
        return "within about a minute"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"in about {f'{hours} h {minutes} min' if hours else f'{minutes} min'}"


def _runs(runs: Sequence[QueuedRun]) -> str:
    ids = ", ".join(str(run.id) for run in runs[:SHOWN])
    more = "" if len(runs) <= SHOWN else f" and {len(runs) - SHOWN} more"
    return f"{'run' if len(runs) == 1 else 'runs'} {ids}{more}"

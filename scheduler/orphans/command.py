"""`python -m scheduler orphans [--adopt | --cancel]`: show what belongs to no run, adopt it, or end its jobs."""

from collections.abc import Iterator, Sequence

from scheduler.context import Context
from scheduler.orphans.adopt import adopt_orphans, cancel_orphans
from scheduler.orphans.find import asked_queues, find_orphans


def handle_orphans(context: Context, words: Sequence[str]) -> Iterator[str]:
    """Yield what there is, or what was done, in sentences."""
    found = find_orphans(context.engine, context.runs_folder, asked_queues(context))
    if not found:
        yield "every job and run folder of this service belongs to a run in its database"
    elif "--adopt" in words:
        yield from adopt_orphans(context, found)
    elif "--cancel" in words:
        yield from cancel_orphans(context, found)
    else:
        for orphan in found:
            yield orphan.describe()

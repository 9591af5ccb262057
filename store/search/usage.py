"""What the runs of an experiment have used: the time of their jobs, times their ranks."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.lifecycle.state import LIVE, State
from store.tables import Move, Run, now

# a job of this machine has its ranks from its start; the wait in a cluster's queue uses none
BUSY: Mapping[bool, frozenset[State]] = {True: LIVE, False: LIVE - {State.PENDING}}


def rank_seconds(db: Session, experiment_id: int, numbers: Sequence[int] | None = None) -> dict[int, float]:
    """Return the rank-seconds of each run that began, by its number in the experiment; of all without `numbers`."""
    columns = (Run.number, Run.world, Run.cluster, Move.new, Move.at)
    query = select(*columns).join(Run, Run.id == Move.run_id).where(Run.experiment_id == experiment_id)
    if numbers is not None:
        query = query.where(Run.number.in_(numbers))
    used: dict[int, float] = {}
    since: dict[int, datetime] = {}
    worlds: dict[int, int] = {}
    for number, world, cluster, new, at in db.execute(query.order_by(Move.run_id, Move.id)):
        is_busy = new in BUSY[cluster == "local"]
        if number in since and not is_busy:
            used[number] = used.get(number, 0.0) + world * (at - since.pop(number)).total_seconds()
        elif is_busy:
            since.setdefault(number, at)
        worlds[number] = world
    for number, at in since.items():
        used[number] = used.get(number, 0.0) + worlds[number] * (now() - at).total_seconds()
    return used

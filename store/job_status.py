"""What a cluster says of its jobs: which are asked about, and what it last said, many in a statement."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, or_, select, update
from sqlalchemy.orm import Session

from contract.lifecycle.state import ENDED, LIVE, State
from store.tables import Cluster, Run, now

AT_ONCE = 20_000
LONGEST = timedelta(minutes=1)  # no look is put off for longer


class Said(NamedTuple):
    """What is stored of a job, for one attempt at a run."""

    id: int
    attempt: int
    waits_for: str | None = None
    waits_kind: str | None = None
    unknown_since: datetime | None = None
    gone_reason: str | None = None
    gone_cause: str | None = None
    gone_at: datetime | None = None
    hosts: Sequence[str] = ()  # that the job had, where one of them failed


def turn(db: Session, cluster: str, until: datetime) -> bool:
    """Take the next look at `cluster`, after which nobody looks before `until`; False when it is not time yet."""
    # a clock that was set back must not keep everybody from looking
    due = or_(Cluster.look_after.is_(None), Cluster.look_after <= now(), Cluster.look_after > now() + LONGEST)
    mine = update(Cluster).where(Cluster.kind == cluster, due).values(look_after=until)
    if db.scalar(mine.returning(Cluster.kind)) is not None:
        return True
    return db.get(Cluster, cluster) is None  # nobody has observed it yet


def put_off(db: Session, cluster: str, until: datetime) -> None:
    """Let nobody look at `cluster` before `until`."""
    db.execute(update(Cluster).where(Cluster.kind == cluster).values(look_after=until))


def watched(db: Session, cluster: str) -> list[Any]:
    """The jobs on `cluster` of which nobody knows that they have ended: of live runs, and what ended ones left."""
    left = and_(Run.state.in_(ENDED), Run.job_gone.is_(False))
    mine = (Run.cluster == cluster, Run.job_id.is_not(None), Run.gone_reason.is_(None), or_(Run.state.in_(LIVE), left))
    columns = (
        *(Run.id, Run.key, Run.attempt, Run.job_id, Run.job_name, Run.member, Run.moved_at, Run.stop_asked_at),
        *(Run.waits_for, Run.waits_kind, Run.unknown_since, Run.own_cause),
    )
    return list(db.execute(select(*columns).where(*mine).order_by(Run.id).limit(AT_ONCE)))


def note(db: Session, said: Sequence[Said]) -> None:
    """Store what was said; of an attempt that is over by now, nothing."""
    if not said:
        return
    table = Run.__table__
    names = [name for name in Said._fields if name not in ("id", "attempt", "hosts")]
    this = update(table).where(table.c.id == bindparam("run"), table.c.attempt == bindparam("of"))  # type: ignore[arg-type]
    change: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names} | {"job_gone": bindparam("new_gone")}
    rows = [
        {"run": one.id, "of": one.attempt, "new_gone": one.gone_reason is not None}
        | {f"new_{name}": getattr(one, name) for name in names}
        for one in sorted(said, key=lambda one: one.id)  # as everybody locks runs (store/locks.py)
    ]
    db.connection().execute(this.values(change), rows)
    for one in (one for one in said if one.hosts):  # its ranks had no time to say it
        unsaid = (Run.id == one.id, Run.attempt == one.attempt, Run.state == State.PENDING)
        db.execute(update(Run).where(*unsaid).values(hosts=list(one.hosts)))

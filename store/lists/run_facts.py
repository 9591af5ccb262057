"""What a chart needs of runs beside their points: the devices, and the steps at which attempts resumed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.spec.checks.packing import job_devices
from contract.spec.resources import Resources
from store.tables.runs import Restart, Run

RESOURCES: TypeAdapter[Any] = TypeAdapter(Resources)


class RunFacts(NamedTuple):
    """What a chart needs of one run."""

    run_id: int
    devices: int
    restarts: list[int]


def facts_of(db: Session, run_ids: Sequence[int]) -> dict[int, RunFacts]:
    """Return the facts of each run, by its id."""
    runs = db.execute(select(Run.id, Run.world, Run.spec["resources"]).where(Run.id.in_(run_ids)))
    found = {run_id: RunFacts(run_id, devices_of(resources, world), []) for run_id, world, resources in runs}
    order = (Restart.run_id, Restart.step)
    for run_id, step in db.execute(select(*order).where(Restart.run_id.in_(run_ids)).order_by(*order)):
        if run_id in found:
            found[run_id].restarts.append(step)
    return found


def devices_of(resources: dict[str, Any] | None, world: int) -> int:
    """Return the number of devices of a run by the resources of its spec, which recordings lack."""
    return job_devices(RESOURCES.validate_python(resources)) if resources else world

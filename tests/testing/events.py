"""Events of a run, written into its folder as its rank 0 would."""

from contract.folder.events import Event, Started
from scheduler.context import Context
from tests.testing.runs import read

STARTED = Started(attempt=1, at=0.0, world=2, hosts=["h", "h"], device="cpu", steps=4, versions={})


def report(context: Context, run_id: int, *events: Event, torn: str = "") -> None:
    """Write into the run's events file what its rank 0 would."""
    with context.folder_of(read(context, run_id)).events.open("a") as file:
        file.write("".join(event.model_dump_json() + "\n" for event in events) + torn)

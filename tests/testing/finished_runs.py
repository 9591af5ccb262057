"""Runs that end with outputs on a cluster without processes, for tests of artifacts and of reuse."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contract.folder.events import Finished, Points
from contract.folder.outputs.content import hash_content
from contract.folder.outputs.record import OutputsRecord, RecordedArtifact
from contract.spec.expanded import Expanded
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from store.lifecycle import creation
from store.session import transaction
from tests.testing.events import STARTED, report
from tests.testing.outputs import write_outputs
from tests.testing.runs import read

LOSSES = (1.0, 0.5, 0.25, 0.125)


def create(context: Context, spec: Expanded, *, force: bool = False) -> list[int]:
    """Store an experiment; return its runs."""
    with transaction(context.engine) as db:
        return creation.create(db, spec, force=force)[1]


def folder_of(context: Context, run_id: int) -> Path:
    return context.folder_of(read(context, run_id)).path


def finish(context: Context, run_id: int, outputs: Mapping[str, str] | None = None, **values: float) -> None:
    """Submit a run and let it end with four points; `outputs`: the text of each file, by the output's name.

    `values` are metrics of the last step.
    """
    submit_queued(context)
    run = read(context, run_id)
    folder, attempt = folder_of(context, run_id), run.attempt
    losses: list[dict[str, Any]] = [{"loss": loss} for loss in LOSSES]
    losses[-1] |= values
    points = [Points(attempt=attempt, at=1.0, step=step, values=one) for step, one in enumerate(losses, 1)]
    found = []
    for name, text in (outputs or {}).items():
        path = run.spec["outputs"][name]
        (folder / path).write_text(text)
        found.append(RecordedArtifact(name=name, path=path, **hash_content(folder, path)._asdict()))
    if found:
        write_outputs(folder, OutputsRecord(attempt=attempt, artifacts=found))
    end = Finished(attempt=attempt, at=9.0, step=len(LOSSES), outputs=bool(found))
    report(context, run_id, STARTED.model_copy(update={"attempt": attempt}), *points, end)
    ingest(context)

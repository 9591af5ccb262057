"""Services whose database is put back: experiments with marks, begun attempts, and a copy of a database."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from contract.folder.events import Points
from contract.folder.run_folder import RunFolder
from scheduler.context import Context, Memory
from scheduler.submit.submission import submit_queued
from scheduler.ticks.mark import mark
from store.lifecycle import creation
from store.session import engine_for, transaction
from store.tables.base import now
from tests.testing.events import STARTED, report
from tests.testing.runs import read
from tests.testing.specs import Experiment, changed


def copied(context: Context, target: Path) -> Context:
    """Copy the database now; the context returned has the copy, the same folders and clusters, and a new worker."""
    with closing(sqlite3.connect(str(context.engine.url.database))) as database:
        database.execute("VACUUM INTO ?", [str(target)])
    return replace(context, engine=engine_for(f"sqlite:///{target}"), memory=Memory())


def create(
    context: Context, experiment: Experiment, size: int = 1, name: str = "test", **base: object
) -> tuple[int, list[int]]:
    """Create an experiment, submit its runs and write a mark; return the ids of the experiment and its runs."""
    spec = changed(experiment({"seed": list(range(size))}, **base), name=name)
    with transaction(context.engine) as db:
        made = creation.create(db, spec)
    submit_queued(context)
    mark(context)
    return made


def begin(context: Context, run_id: int, attempt: int = 1) -> RunFolder:
    """Claim the attempt and report its start, as its job would."""
    run = read(context, run_id)
    folder = context.folder_of(run)
    folder.claim(attempt, f"bigbatch-{run.key}-{attempt}@n1:{attempt + 7}")
    started = STARTED.model_copy(update={"attempt": attempt, "at": now().timestamp()})
    report(context, run_id, started, Points(attempt=attempt, at=now().timestamp(), step=attempt, values={"loss": 1.0}))
    return folder

"""A job array whose runs have all ended."""

from pathlib import Path

from contract.folder.array_folder import ArrayFolder
from contract.folder.events import Finished
from contract.lifecycle.job_end import EndKind
from scheduler.clusters.cluster import gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from scheduler.ticks.refresh_clusters import refresh_clusters
from tests.testing.clusters import Far
from tests.testing.events import STARTED, report
from tests.testing.runs import create_runs, job_of, poll_now
from tests.testing.specs import Experiment


def ended_array(context: Context, far: Far, experiment: Experiment, runs: int) -> tuple[list[int], Path]:
    """Return runs that an array has carried out, and the array's folder."""
    run_ids = create_runs(context, experiment, runs)
    refresh_clusters(context)
    submit_queued(context)
    array = ArrayFolder.of(context.runs_folder, job_of(context, run_ids[0]).name).path
    for run_id in run_ids:
        report(context, run_id, STARTED, Finished(attempt=1, at=2.0, step=4))
        far.answers[str(job_of(context, run_id).external_id)] = gone(EndKind.COMPLETED)
    ingest(context)
    poll_now(context)
    return run_ids, array

"""POST /scripts: the batch scripts of an experiment, as a submission would write them; nothing is submitted."""

import subprocess
import sys
from threading import Lock
from typing import Annotated

from fastapi import APIRouter, Depends
from sqlalchemy.orm import Session

from api.database import Reading
from api.errors import Busy
from api.http.bodies import describe_body
from api.http.statuses import problems
from api.orders import draft_of
from contract.api.cluster_report import ClusterReport
from contract.api.drafts import Scripts
from contract.spec.expanded import Expanded
from contract.spec.experiment import ExperimentSpec
from store import clusters

router = APIRouter(tags=["drafts"])
WAIT_S, TIMEOUT_S = 5.0, 60.0
_one = Lock()  # a process of its own for seconds: all requests share one
Draft = Annotated[Expanded, Depends(draft_of)]


@router.post(
    "/scripts",
    openapi_extra=describe_body(ExperimentSpec, "The experiment, as JSON or YAML."),
    responses=problems(400, 413, 415, 422, 503),
)
def preview_scripts(draft: Draft, db: Reading) -> Scripts:
    """Return each point of the grid and the exact batch scripts, by the limits and nodes of the newest report."""
    lines = [draft.spec.model_dump_json(), *_report_for(db, draft)]
    if not _one.acquire(timeout=WAIT_S):
        raise Busy("other scripts are being written: try again in a few seconds")
    try:
        # another process, because the API never calls a cluster and so does not import the scheduler
        command = [sys.executable, "-P", "-m", "scheduler", "preview"]
        done = subprocess.run(
            command, input="\n".join(lines), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Busy(f"the scripts took longer than {TIMEOUT_S:g} s") from error
    finally:
        _one.release()
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2]
        raise Busy(f"the scripts could not be written: {reason}")
    return Scripts(text=done.stdout)


def _report_for(db: Session, draft: Expanded) -> list[str]:
    if all(run.resources.kind != "slurm" for _, run in draft.points):
        return []
    reports = [row.report for row in clusters.reports(db) if row.kind == "slurm" and row.report]
    return [ClusterReport.model_validate(report | {"queue": []}).model_dump_json() for report in reports]

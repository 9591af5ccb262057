"""What becomes of orphans: their runs are stored again, or their jobs are ended."""

import json
import logging
from collections.abc import Collection, Iterator, Sequence

from sqlalchemy.exc import IntegrityError

from contract.folder.claimed_job import ClaimedJob, find_claimed_job
from contract.folder.files.untrusted_file import read_file
from contract.folder.run_folder import RECORD_BYTES, RunFolder
from contract.folder.service_records import JOB_NAME, ExperimentRecord, RecordedMember, read_experiments
from contract.spec.any_run import read_run
from scheduler.clusters.cluster import JobHandle, NoAnswerError
from scheduler.context import Context
from scheduler.orphans.find import Orphan
from store import orphans, service
from store.orphans import Adopted, CannotAdopt
from store.session import snapshot, transaction

log = logging.getLogger(__name__)


def adopt_orphans(context: Context, found: Sequence[Orphan]) -> Iterator[str]:
    """Store the runs of orphans with a folder again; yield what was done, and why not, in sentences."""
    with snapshot(context.engine) as db:
        identity = service.identity(db)
    mine = {orphan.key: orphan for orphan in found if orphan.folder is not None}
    left = set(mine)
    for record in read_experiments(context.runs_folder, identity):
        members = [member for member in record.runs if member.key in mine]
        if members:
            left -= {member.key for member in members}
            yield _adopt(context, record, members, mine)
    for key in sorted(left):
        yield f"{mine[key].describe()}: no record says of which experiment it is, so it cannot be adopted"
    for orphan in found:
        if orphan.folder is None:
            yield f"{orphan.describe()}: its folder is not here, so it cannot be adopted; end its job by --cancel"


def cancel_orphans(context: Context, found: Sequence[Orphan]) -> Iterator[str]:
    """End the jobs of orphans; yield what was done in sentences."""
    for kind, cluster in context.clusters.items():
        names = {job.name: job.job_id for orphan in found for job in orphan.jobs if job.cluster == kind}
        if not names:
            continue
        try:
            ids = cluster.find(list(names))
            asked = [JobHandle(job_id, name) for name, job_id in ids.items() if job_id is not None]
            ended: Collection[str] = {job.name for job in cluster.cancel(asked)}
        except NoAnswerError as error:
            yield f"the jobs on {kind} could not be ended now: {error}"
            continue
        for name, job_id in names.items():
            yield f"{kind} job {job_id} ({name}) " + ("is being ended" if name in ended else "has ended already")


def _adopt(
    context: Context, record: ExperimentRecord, members: Sequence[RecordedMember], mine: dict[str, Orphan]
) -> str:
    ids = ", ".join(str(member.id) for member in members)
    which = f"runs {ids} of experiment {record.id} '{record.name}'"
    try:
        read = [_read(context, member, mine[member.key]) for member in members]
        with transaction(context.engine) as db:
            experiment_id = orphans.adopt(db, record, read)
    except (CannotAdopt, OSError, ValueError, IntegrityError) as error:
        log.debug("not adopted", exc_info=error)
        return f"{which} cannot be adopted: {error}"
    stopped = [str(one.member.id) for one in read if not one.has_begun]
    end = f"; no job had begun {', '.join(stopped)}, so `bigbatch retry` starts what you still want" if stopped else ""
    return f"{which} are adopted as experiment {experiment_id}{end}"


def _read(context: Context, member: RecordedMember, orphan: Orphan) -> Adopted:
    assert orphan.folder is not None
    folder = RunFolder(orphan.folder.path)
    spec = read_run(json.loads(read_file(folder.path, "spec.json", RECORD_BYTES)))
    return Adopted(member, spec, find_claimed_job(context.runs_folder, folder) or _queued_job(orphan))


def _queued_job(orphan: Orphan) -> ClaimedJob | None:
    """Return the job of an orphan that waits in a cluster's queue alone: nothing has claimed its attempt yet."""
    for job in orphan.jobs:
        match = JOB_NAME.fullmatch(job.name)
        if match is not None and "_" not in job.job_id:
            return ClaimedJob(int(match[2]), job.name, job.job_id)
    return None

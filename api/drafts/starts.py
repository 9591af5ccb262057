"""POST /starts: when the jobs of a draft would start; nothing is submitted, and no thread waits for Slurm."""

import asyncio
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from api.http.bodies import describe_body
from api.http.statuses import problems
from api.orders import draft_of
from api.sentences.local_queue import estimate_start_s, local_queue_sentence
from contract.api.cluster_report import ClusterReport
from contract.api.drafts import MOST_KINDS, PredictedStart, PredictedStarts, SlurmPrediction
from contract.spec.any_run import AnyRun
from contract.spec.expanded import Expanded
from contract.spec.experiment import ExperimentSpec
from store.lifecycle.new_runs import kinds_of_jobs, need_of
from store.lists.local_queue import read_whole_queue
from store.session import snapshot
from store.tables.base import now
from store.tables.clusters import Cluster

router = APIRouter(tags=["drafts"])
TIMEOUT_S = 75.0  # of a process: three calls of Slurm, each with a timeout of 20 s
KNOWN_S, MOST_KNOWN = 60.0, 200  # so long an answer of Slurm counts for drafts that ask for the same
Draft = Annotated[Expanded, Depends(draft_of)]
Kinds = Sequence[tuple[AnyRun, int]]


class SlurmAnswers:
    """The newest answers of Slurm, by what the jobs ask for; one process asks at a time."""

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._known: dict[str, tuple[float, list[SlurmPrediction]]] = {}

    async def of(self, spec: ExperimentSpec, kinds: Kinds, database: str) -> list[SlurmPrediction]:
        """Return what Slurm predicts for each Slurm kind of job; empty where this host has no Slurm."""
        key = " ".join([*(need_of(run, []) for run, _ in kinds), str(spec.pack)])
        async with self._one:  # a second request for the same waits here, and finds the answer
            at, found = self._known.get(key, (-KNOWN_S, []))
            if time.monotonic() - at < KNOWN_S:
                return found
            found = await _ask(f"{database}\n{spec.model_dump_json()}")
            if len(self._known) >= MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
            self._known[key] = time.monotonic(), found
            return found


@router.post(
    "/starts",
    openapi_extra=describe_body(ExperimentSpec, "The experiment, as JSON or YAML."),
    responses=problems(400, 413, 415, 422, 503),
)
async def predict_starts(draft: Draft, request: Request) -> PredictedStarts:
    """Return when the first job of each kind of the draft would start, as Slurm or the queue of the machine predict."""
    state = request.app.state
    kinds = kinds_of_jobs(draft.points)[:MOST_KINDS]
    slurm = [kind for kind in kinds if kind[0].resources.kind == "slurm"]
    answers = await state.slurm_answers.of(draft.spec, slurm, state.settings.database_url()) if slurm else []
    return await run_in_threadpool(_starts, request, kinds, list(answers))


async def _ask(asked: str) -> list[SlurmPrediction]:
    """Ask Slurm by a process of the scheduler: the API itself calls no cluster."""
    command = (sys.executable, "-P", "-m", "scheduler", "predict")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        printed, message = await asyncio.wait_for(process.communicate(asked.encode()), TIMEOUT_S)
    except (TimeoutError, asyncio.CancelledError) as error:
        process.kill()
        await process.wait()
        if isinstance(error, asyncio.CancelledError):
            raise
        return [SlurmPrediction(message=f"Slurm gave no answer within {TIMEOUT_S:g} s")]
    if process.returncode:
        reason = message.decode(errors="replace").strip().rpartition("\n")[2]
        return [SlurmPrediction(message=f"Slurm could not be asked: {reason}")]
    return [SlurmPrediction.model_validate_json(line) for line in printed.splitlines()]


def _starts(request: Request, kinds: Kinds, answers: list[SlurmPrediction]) -> PredictedStarts:
    with snapshot(request.app.state.engine) as db:
        return PredictedStarts(starts=[_start(db, run, runs, answers) for run, runs in kinds])


def _start(db: Session, run: AnyRun, runs: int, answers: list[SlurmPrediction]) -> PredictedStart:
    if run.resources.kind == "local":
        return _local_start(db, run.resources.world, runs)
    if not answers:
        return _reported_start(db, run, runs)
    answer = answers.pop(0)
    text = answer.message or "Slurm predicts it from the jobs that it knows now"
    return PredictedStart(cluster="slurm", runs=runs, starts_at=answer.starts_at, source="sbatch", text=text)


def _local_start(db: Session, world: int, runs: int) -> PredictedStart:
    cluster = db.get(Cluster, "local")
    ranks = cluster.report.get("ranks") if cluster and cluster.report else None
    if ranks is None:
        text = "the scheduler has not reported this machine yet"
        return PredictedStart(cluster="local", runs=runs, starts_at=None, source="queue", text=text)
    queue = read_whole_queue(db, "local")
    seconds = estimate_start_s(queue, world, ranks)
    starts_at = None if seconds is None else now() + timedelta(seconds=seconds)
    is_free = not queue.live and not queue.ahead
    text = "its ranks are free now" if is_free else local_queue_sentence(queue, world, ranks)
    return PredictedStart(cluster="local", runs=runs, starts_at=starts_at, source="queue", text=text)


def _reported_start(db: Session, run: AnyRun, runs: int) -> PredictedStart:
    """Return what the newest report says, on a host without Slurm's commands."""
    cluster = db.get(Cluster, "slurm")
    text, starts_at = "no report of the cluster is stored, and this host has no Slurm to ask", None
    if cluster is not None and cluster.report is not None and run.resources.kind == "slurm":
        report = ClusterReport.model_validate(cluster.report)
        chosen = {part.name: part.idle_nodes for part in report.select_partitions(run.resources.partition)}
        waiting = [job for job in report.queue if job.partition in chosen and job.state == "PENDING"]
        idle = max(chosen.values(), default=0)
        where = ", ".join(chosen) or "no partition"
        text = f"by the newest report {idle} nodes are idle in {where}, {len(waiting)} jobs wait there"
        if not waiting and idle >= run.resources.nodes:
            starts_at = now()
    return PredictedStart(cluster="slurm", runs=runs, starts_at=starts_at, source="report", text=text)

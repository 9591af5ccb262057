"""Runs, jobs and evidence without a database, for tests of decisions; and tables of words."""

from datetime import UTC, datetime, timedelta
from typing import Any

from contract.api.cluster_report import ClusterReport, Node
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import CAUSE_OF, JobEnd
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Gone
from scheduler.outcome.evidence import Claim, Evidence
from scheduler.outcome.facts import JobFacts, RunFacts
from tests.testing.clusters import SLURM
from tests.testing.specs import small_experiment

AT = datetime(2026, 1, 1, tzinfo=UTC)
LONG_AGO, LATELY = timedelta(minutes=2), timedelta(seconds=5)  # since the end of the job was first observed


def rows(table: str) -> dict[str, dict[str, str]]:
    """Read a table of words: row -> column -> word."""
    head, *lines = [line.split() for line in table.strip().splitlines()]
    return {name: dict(zip(head, words, strict=True)) for name, *words in lines}


def cluster_report(*, is_host_down: bool) -> ClusterReport:
    states = {"a": "mixed", "b": "down*" if is_host_down else "mixed", "c": "idle"}
    common = {"partitions": ["gpu"], "cpus": 4, "busy_cpus": 0, "memory_mb": 1, "gres": "", "features": []}
    nodes = [Node.model_validate({"name": name, "state": state, **common}) for name, state in states.items()]
    return ClusterReport(partitions=[], nodes=nodes, queue=[])


def make_run(state: State = State.RUNNING, *, retries: dict[str, Any] | None = None, **facts: Any) -> RunFacts:
    """Make a run at step 5 of its first attempt, on Slurm."""
    ((_, spec),) = small_experiment(resources=SLURM, retries=retries or {"failure": 3}).points
    known: dict[str, Any] = {"spec": spec.model_dump(mode="json"), "cluster": "slurm", "step": 5, "job": make_job()}
    return RunFacts(state=state, **(known | facts))


def make_job(**facts: Any) -> JobFacts:
    known: dict[str, Any] = {"attempt": 1, "hosts": ["a", "b"]}
    return JobFacts(**(known | facts))


def make_evidence(cause: ExitCause, end: JobEnd | None = None, **fields: Any) -> Evidence:
    """Make the evidence on a job that ended for `cause`; a failure has the exit code of a pause."""
    kind = next(kind for kind, its_cause in CAUSE_OF.items() if its_cause is cause)
    found = end or JobEnd(kind=kind, detail="NonZeroExitCode" if cause is ExitCause.FAILURE else None)
    known: dict[str, Any] = {"seen_for": LONG_AGO, "claim": Claim.HELD, "report": cluster_report(is_host_down=False)}
    return Evidence(Gone(found, cause), **(known | fields))

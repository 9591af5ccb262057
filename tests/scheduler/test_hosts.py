"""Excluded hosts: the next attempt avoids the hosts that failed."""

from dataclasses import replace

import pytest

from contract.api.cluster_report import ClusterReport, Node
from contract.folder.events import Failed
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Gone, NoAnswerError, RateLimitedError, Unknown, gone
from scheduler.context import Context
from scheduler.outcome.excluded_hosts import next_excluded
from scheduler.ticks.ingest import ingest
from scheduler.ticks.poll import HOSTS_ASKED_FOR
from scheduler.ticks.reap import reap
from store import clusters, jobs
from store.session import snapshot, transaction
from store.tables.runs import Run
from tests.testing.clusters import Far
from tests.testing.decisions import cluster_report, make_job, make_run
from tests.testing.events import STARTED, report
from tests.testing.runs import job_of, make_older, poll_now, read, report_gone

pytestmark = pytest.mark.ring("quick")


@pytest.fixture
def context(far_context: Context) -> Context:
    return far_context


@pytest.fixture
def run_id(far_run_id: int) -> int:
    return far_run_id


def test_the_next_attempt_excludes_those_of_several_hosts_that_failed(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a stale report: the stored report of the cluster is older than the failure of the host."""
    report(context, run_id, STARTED.model_copy(update={"hosts": ["h1", "h2"]}))
    ingest(context)
    report_of = {"h1": "mixed", "h2": "mixed"}
    monkeypatch.setattr(
        far, "report", lambda urgent=False: ClusterReport(partitions=[], nodes=hosts(report_of), queue=[])
    )
    with transaction(context.engine) as db:
        clusters.store_report(db, "slurm", far.report(), None)
    report_of["h2"] = "down*"
    run = report_gone(context, far, run_id, gone(EndKind.NODE_FAILED))
    assert (run.state, run.excluded) == (State.QUEUED, ["h2"])


@pytest.mark.parametrize(("job_hosts", "failed"), [(("h1",), ["h1"]), (("h1", "h2"), ["h2"]), ((), [])])
@pytest.mark.parametrize("is_reported", [False, True], ids=["not reported", "reported"])
def test_hosts_that_the_ranks_did_not_report_are_known_from_the_cluster(
    context: Context,
    far: Far,
    run_id: int,
    monkeypatch: pytest.MonkeyPatch,
    job_hosts: tuple[str, ...],
    failed: list[str],
    is_reported: bool,
) -> None:
    """Forces a failure of a host before or after the rendezvous; the hosts that the ranks report count more."""
    report_of = ClusterReport(partitions=[], nodes=hosts({"h1": "mixed", "h2": "down*", "h3": "idle"}), queue=[])
    monkeypatch.setattr(far, "report", lambda urgent=False: report_of)
    if is_reported:
        report(context, run_id, STARTED.model_copy(update={"hosts": ["h2", "h3"]}))
        ingest(context)
    run = report_gone(context, far, run_id, gone(EndKind.NODE_FAILED)._replace(hosts=job_hosts))
    assert (run.state, run.excluded) == (State.QUEUED, ["h2"] if is_reported else failed)


def test_the_end_of_a_job_on_several_hosts_waits_for_a_report_of_the_cluster(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the rate limit leaves no call for a report when a host fails."""
    report_of = ClusterReport(partitions=[], nodes=hosts({"h1": "mixed", "h2": "down*", "h3": "idle"}), queue=[])
    ended = gone(EndKind.NODE_FAILED)._replace(hosts=("h1", "h2"))

    def rate_limited(urgent: bool = False) -> ClusterReport:
        raise RateLimitedError("the rate limit is reached")

    report(context, run_id, STARTED.model_copy(update={"hosts": ["h1", "h2"]}))
    ingest(context)
    monkeypatch.setattr(far, "report", rate_limited)
    run = report_gone(context, far, run_id, ended)
    job = job_of(context, run_id)
    assert (run.state, job.observed_end, job.unknown_since is not None) == (State.RUNNING, None, True)
    monkeypatch.setattr(far, "report", lambda urgent=False: report_of)
    run = report_gone(context, far, run_id, ended)
    assert (run.state, run.excluded) == (State.QUEUED, ["h2"])


def test_an_end_waits_for_one_poll_when_the_cluster_gives_no_report_of_its_hosts(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: sinfo is down, or there is none."""

    def down(urgent: bool = False) -> ClusterReport:
        raise NoAnswerError("sinfo: exit code 1")

    monkeypatch.setattr(far, "report", down)
    report(context, run_id, STARTED.model_copy(update={"hosts": ["h1", "h2"]}))
    ingest(context)
    ended = gone(EndKind.NODE_FAILED)._replace(hosts=("h1", "h2"))
    assert report_gone(context, far, run_id, ended).state == State.RUNNING
    assert report_gone(context, far, run_id, ended).state == State.QUEUED


@pytest.mark.parametrize(
    ("host", "state", "cause"), [("down*", State.QUEUED, "node_failure"), ("idle", State.FAILED, "failure")]
)
@pytest.mark.parametrize("answer", [gone(EndKind.FAILED, "NonZeroExitCode"), gone(EndKind.CANCELLED)])
def test_the_report_of_the_cluster_decides_on_a_host_that_stopped_answering(
    context: Context,
    far: Far,
    run_id: int,
    monkeypatch: pytest.MonkeyPatch,
    answer: Gone,
    host: str,
    state: State,
    cause: str,
) -> None:
    """Forces the order: a host loses power, and the ranks report a timeout before Slurm reports the host as down."""
    report_of = {"h1": "mixed", "h2": "mixed", "h3": "idle"}
    monkeypatch.setattr(
        far, "report", lambda urgent=False: ClusterReport(partitions=[], nodes=hosts(report_of), queue=[])
    )
    timeout = Failed(attempt=1, at=1.0, rank=1, reason="rank 1 sent nothing", failure=FailureKind.COLLECTIVE_TIMEOUT)
    report(context, run_id, STARTED.model_copy(update={"hosts": ["h1", "h2"]}), timeout)
    ingest(context)
    assert read(context, run_id).state == State.PAUSED
    reap(context)
    assert far.cancelled == [("job1", False)], "the other ranks wait for the missing rank"
    report_of["h2"] = host
    run = report_gone(context, far, run_id, answer)
    assert (run.state, run.excluded) == (state, ["h2"] if state is State.QUEUED else [])
    with snapshot(context.engine) as db:
        assert [attempt.exit_cause for attempt in jobs.ended_attempts(db, run_id)] == [cause]


@pytest.mark.parametrize("beyond_s", [-10, 10])
def test_the_service_asks_longer_for_the_state_of_a_suspected_host(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch, beyond_s: int
) -> None:
    """Forces the order: the cluster gives no answer, then reports the end of the job when no call is free."""
    there = ClusterReport(partitions=[], nodes=hosts({"h1": "mixed", "h2": "down*", "h3": "idle"}), queue=[])

    def rate_limited(urgent: bool = False) -> ClusterReport:
        raise RateLimitedError("the rate limit is reached")

    ended = gone(EndKind.FAILED, "NonZeroExitCode")
    monkeypatch.setattr(far, "report", rate_limited)
    timeout = Failed(attempt=1, at=1.0, rank=1, reason="rank 1 sent nothing", failure=FailureKind.COLLECTIVE_TIMEOUT)
    report(context, run_id, STARTED.model_copy(update={"hosts": ["h1", "h2"]}), timeout)
    ingest(context)
    far.answers["job1"] = Unknown("squeue: exit code 1")
    poll_now(context)
    make_older(context, run_id, unknown_since=60)
    for _ in range(2):
        assert report_gone(context, far, run_id, ended).state == State.PAUSED
    make_older(context, run_id, unknown_since=HOSTS_ASKED_FOR.total_seconds() + beyond_s)
    if beyond_s < 0:
        assert report_gone(context, far, run_id, ended).state == State.PAUSED
        monkeypatch.setattr(far, "report", lambda urgent=False: there)
        run = report_gone(context, far, run_id, ended)
        assert (run.state, run.excluded) == (State.QUEUED, ["h2"])
    else:
        assert report_gone(context, far, run_id, ended).state == State.FAILED, "no report confirms the suspicion"


@pytest.mark.parametrize(("partition", "excluded"), [("gpu", ["h"]), ("gone", []), ("knl,gpu", ["h"]), ("knl", [])])
def test_only_hosts_of_the_requested_partitions_replace_excluded_hosts(
    context: Context, far: Far, run_id: int, partition: str, excluded: list[str]
) -> None:
    parts = [
        {"name": name, "is_default": False, "state": "up", "nodes": 3, "idle_nodes": 1, "cpus": 9, "gres": ""}
        for name in ("gpu", "knl")
    ]
    report_of = ClusterReport.model_validate(
        {
            "partitions": [part | {"time_limit": "1:00"} for part in parts],
            "nodes": hosts({"h": "down*", "g": "idle", "k": "down*"}),
            "queue": [],
        }
    )
    with transaction(context.engine) as db:
        clusters.store_report(db, "slurm", report_of, None)
        run = db.get_one(Run, run_id)
        run.spec = run.spec | {"resources": run.spec["resources"] | {"partition": partition}}
    report(context, run_id, STARTED)
    ingest(context)
    assert report_gone(context, far, run_id, gone(EndKind.NODE_FAILED)).excluded == excluded


@pytest.mark.parametrize(
    ("before", "states", "after"),
    [
        ([], {"h": "down*"}, []),  # the partition's only host
        ([], {"h": "down*", "g": "idle"}, ["h"]),
        (["g"], {"h": "down*", "g": "idle"}, ["h"]),  # g failed longer ago
        (["f"], {"h": "down*", "g": "idle", "f": "idle"}, ["f", "h"]),
        ([], {"h": "idle", "g": "drained"}, []),  # the run would wait for the other host
        ([], {"h": "idle", "k": "idle"}, []),  # k is in another partition
    ],
)
def test_no_host_is_excluded_that_the_run_needs(
    context: Context, far: Far, run_id: int, before: list[str], states: dict[str, str], after: list[str]
) -> None:
    """Forces a shortage: few other hosts are in service, and Slurm refuses a job that excludes all hosts."""
    parts = [{"name": "gpu", "is_default": True, "state": "up", "nodes": 3, "idle_nodes": 1, "cpus": 9, "gres": ""}]
    report_of = ClusterReport.model_validate(
        {"partitions": [part | {"time_limit": "1:00"} for part in parts], "nodes": hosts(states), "queue": []}
    )
    with transaction(context.engine) as db:
        clusters.store_report(db, "slurm", report_of, None)
        db.get_one(Run, run_id).excluded = before
    report(context, run_id, STARTED)
    ingest(context)
    run = report_gone(context, far, run_id, gone(EndKind.NODE_FAILED))
    assert (run.state, run.excluded) == (State.QUEUED, after)


def hosts(states: dict[str, str]) -> list[Node]:
    """Make nodes in the given states; k is in the partition knl, the other nodes are in gpu."""
    common = {"cpus": 4, "busy_cpus": 0, "memory_mb": 1, "gres": "", "features": []}
    return [
        Node.model_validate({"name": name, "state": state, "partitions": ["knl" if name == "k" else "gpu"], **common})
        for name, state in states.items()
    ]


def test_a_host_that_the_run_asks_for_by_name_is_never_excluded() -> None:
    """Slurm refuses such a job: "Invalid node name specified"."""
    run = make_run()
    resources = {**run.spec["resources"], "options": {"nodelist": "a,c[1-2]"}}
    run = replace(run, spec={**run.spec, "resources": resources})
    report_of = cluster_report(is_host_down=False)
    assert next_excluded(replace(run, job=make_job(hosts=["a"])), report_of, a_host_failed=True) == []
    assert next_excluded(replace(run, job=make_job(hosts=["b"])), report_of, a_host_failed=True) == ["b"]

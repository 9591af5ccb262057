"""Hosts that failed under a run: the next attempt does without them."""

import pytest

from contract.api.cluster_report import ClusterReport, Node
from contract.folder.events import Failed
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.state import State
from contract.spec.retry import Cause
from scheduler.clusters.cluster import BusyError, DoubtError, Gone, Unknown
from scheduler.context import Site
from scheduler.ticks.ingest import collect
from scheduler.ticks.reap import sweep
from store import clusters
from store import jobs as attempts
from store.session import snapshot, transaction
from store.tables import Run
from tests.scheduler.conftest import read, say
from tests.scheduler.test_arrays import Far
from tests.scheduler.test_poll import STARTED, far, gone, later, look_now, run_id, site

__all__ = ["far", "run_id", "site"]


def test_of_several_hosts_the_next_attempt_does_without_those_that_failed(
    site: Site, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the moment: what the cluster was last known to say of its hosts is from before one failed."""
    say(site, run_id, STARTED.model_copy(update={"hosts": ["h1", "h2"]}))
    collect(site)
    told = {"h1": "mixed", "h2": "mixed"}
    monkeypatch.setattr(far, "report", lambda urgent=False: ClusterReport(partitions=[], nodes=hosts(told), queue=[]))
    with transaction(site.engine) as db:
        clusters.put(db, "slurm", far.report(), None)
    told["h2"] = "down*"
    run = gone(site, far, run_id, Gone("a node of the job failed", Cause.NODE_FAILURE))
    assert (run.state, run.excluded) == (State.QUEUED, ["h2"])


@pytest.mark.parametrize(("had", "failed"), [(("h1",), ["h1"]), (("h1", "h2"), ["h2"]), ((), [])])
@pytest.mark.parametrize("said", [False, True], ids=["unsaid", "said"])
def test_hosts_of_which_the_ranks_had_no_time_to_tell_are_known_from_their_cluster(
    site: Site,
    far: Far,
    run_id: int,
    monkeypatch: pytest.MonkeyPatch,
    had: tuple[str, ...],
    failed: list[str],
    said: bool,
) -> None:
    """Forces the moment: a host fails before the ranks have met, or as they say so; what they say counts for more."""
    told = ClusterReport(partitions=[], nodes=hosts({"h1": "mixed", "h2": "down*", "h3": "idle"}), queue=[])
    monkeypatch.setattr(far, "report", lambda urgent=False: told)
    if said:
        say(site, run_id, STARTED.model_copy(update={"hosts": ["h2", "h3"]}))
        collect(site)
    run = gone(site, far, run_id, Gone("a node of the job failed", Cause.NODE_FAILURE, hosts=had))
    assert (run.state, run.excluded) == (State.QUEUED, ["h2"] if said else failed)


def test_the_end_of_a_job_on_several_hosts_waits_for_word_of_them(
    site: Site, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the moment: no call is left for a report as a host fails."""
    told = ClusterReport(partitions=[], nodes=hosts({"h1": "mixed", "h2": "down*", "h3": "idle"}), queue=[])
    ended = Gone("a node of the job failed", Cause.NODE_FAILURE, hosts=("h1", "h2"))

    def busy(urgent: bool = False) -> ClusterReport:
        raise BusyError("this minute's calls are spent")

    say(site, run_id, STARTED.model_copy(update={"hosts": ["h1", "h2"]}))
    collect(site)
    monkeypatch.setattr(far, "report", busy)
    run = gone(site, far, run_id, ended)
    assert (run.state, run.gone_reason, run.unknown_since is not None) == (State.RUNNING, None, True)
    monkeypatch.setattr(far, "report", lambda urgent=False: told)
    run = gone(site, far, run_id, ended)
    assert (run.state, run.excluded) == (State.QUEUED, ["h2"])


def test_hosts_that_nobody_tells_of_hold_an_end_back_for_one_look(
    site: Site, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: sinfo is down, or there is none."""

    def down(urgent: bool = False) -> ClusterReport:
        raise DoubtError("sinfo: exit code 1")

    monkeypatch.setattr(far, "report", down)
    say(site, run_id, STARTED.model_copy(update={"hosts": ["h1", "h2"]}))
    collect(site)
    ended = Gone("a node of the job failed", Cause.NODE_FAILURE, hosts=("h1", "h2"))
    assert gone(site, far, run_id, ended).state == State.RUNNING
    assert gone(site, far, run_id, ended).state == State.QUEUED


@pytest.mark.parametrize(
    ("host", "state", "cause"), [("down*", State.QUEUED, "node_failure"), ("idle", State.FAILED, "failure")]
)
@pytest.mark.parametrize("answer", [Gone("the job failed (NonZeroExitCode)"), Gone("cancelled", Cause.CANCELLED)])
def test_a_silent_host_is_what_its_cluster_says_of_it_once_the_job_has_left(
    site: Site,
    far: Far,
    run_id: int,
    monkeypatch: pytest.MonkeyPatch,
    answer: Gone,
    host: str,
    state: State,
    cause: str,
) -> None:
    """Forces the moment: a host without power keeps silent, and its run's ranks say so before Slurm gives it up."""
    told = {"h1": "mixed", "h2": "mixed", "h3": "idle"}
    monkeypatch.setattr(far, "report", lambda urgent=False: ClusterReport(partitions=[], nodes=hosts(told), queue=[]))
    silence = Failed(attempt=1, at=1.0, rank=1, reason="rank 1 said nothing", failure=FailureKind.COLLECTIVE_TIMEOUT)
    say(site, run_id, STARTED.model_copy(update={"hosts": ["h1", "h2"]}), silence)
    collect(site)
    assert read(site, run_id).state == State.PAUSED
    sweep(site)
    assert far.cancelled == [("job1", False)], "the other ranks wait for the silent one"
    told["h2"] = host
    run = gone(site, far, run_id, answer)
    assert (run.state, run.excluded) == (state, ["h2"] if state is State.QUEUED else [])
    with snapshot(site.engine) as db:
        assert [attempt.cause for attempt in attempts.of_run(db, run_id)] == [cause]


@pytest.mark.parametrize("held_s", [20, 40])
def test_a_host_that_may_have_kept_silent_is_asked_about_for_longer(
    site: Site, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch, held_s: int
) -> None:
    """Forces the moment: the cluster kept silent before, and no call is left as it says that the job has ended."""
    there = ClusterReport(partitions=[], nodes=hosts({"h1": "mixed", "h2": "down*", "h3": "idle"}), queue=[])

    def busy(urgent: bool = False) -> ClusterReport:
        raise BusyError("this minute's calls are spent")

    ended = Gone("the job failed (NonZeroExitCode)")
    monkeypatch.setattr(far, "report", busy)
    silence = Failed(attempt=1, at=1.0, rank=1, reason="rank 1 said nothing", failure=FailureKind.COLLECTIVE_TIMEOUT)
    say(site, run_id, STARTED.model_copy(update={"hosts": ["h1", "h2"]}), silence)
    collect(site)
    far.answers["job1"] = Unknown("squeue: exit code 1")
    look_now(site)
    later(site, run_id, unknown_since=60)
    for _ in range(2):
        assert gone(site, far, run_id, ended).state == State.PAUSED
    later(site, run_id, unknown_since=held_s)
    if held_s < 30:
        assert gone(site, far, run_id, ended).state == State.PAUSED
        monkeypatch.setattr(far, "report", lambda urgent=False: there)
        run = gone(site, far, run_id, ended)
        assert (run.state, run.excluded) == (State.QUEUED, ["h2"])
    else:
        assert gone(site, far, run_id, ended).state == State.FAILED, "for all that anybody knows it is its own"


@pytest.mark.parametrize(("partition", "left_out"), [("gpu", ["h"]), ("gone", []), ("knl,gpu", ["h"]), ("knl", [])])
def test_only_hosts_of_the_partitions_that_were_asked_for_can_take_the_place_of_others(
    site: Site, far: Far, run_id: int, partition: str, left_out: list[str]
) -> None:
    parts = [
        {"name": name, "is_default": False, "state": "up", "nodes": 3, "idle_nodes": 1, "cpus": 9, "gres": ""}
        for name in ("gpu", "knl")
    ]
    told = ClusterReport.model_validate(
        {
            "partitions": [part | {"time_limit": "1:00"} for part in parts],
            "nodes": hosts({"h": "down*", "g": "idle", "k": "down*"}),
            "queue": [],
        }
    )
    with transaction(site.engine) as db:
        clusters.put(db, "slurm", told, None)
        run = db.get_one(Run, run_id)
        run.spec = run.spec | {"resources": run.spec["resources"] | {"partition": partition}}
    say(site, run_id, STARTED)
    collect(site)
    assert gone(site, far, run_id, Gone("a node of the job failed", Cause.NODE_FAILURE)).excluded == left_out


@pytest.mark.parametrize(
    ("before", "states", "after"),
    [
        ([], {"h": "down*"}, []),  # the partition's only host
        ([], {"h": "down*", "g": "idle"}, ["h"]),
        (["g"], {"h": "down*", "g": "idle"}, ["h"]),  # g failed longer ago
        (["f"], {"h": "down*", "g": "idle", "f": "idle"}, ["f", "h"]),
        ([], {"h": "idle", "g": "drained"}, []),  # the other would have to be waited for
        ([], {"h": "idle", "k": "idle"}, []),  # k is in another partition
    ],
)
def test_no_host_is_left_out_that_a_run_cannot_do_without(
    site: Site, far: Far, run_id: int, before: list[str], states: dict[str, str], after: list[str]
) -> None:
    """Forces the moment: a host fails when few others are there; Slurm refuses a job that leaves out all of them."""
    parts = [{"name": "gpu", "is_default": True, "state": "up", "nodes": 3, "idle_nodes": 1, "cpus": 9, "gres": ""}]
    told = ClusterReport.model_validate(
        {"partitions": [part | {"time_limit": "1:00"} for part in parts], "nodes": hosts(states), "queue": []}
    )
    with transaction(site.engine) as db:
        clusters.put(db, "slurm", told, None)
        db.get_one(Run, run_id).excluded = before
    say(site, run_id, STARTED)
    collect(site)
    run = gone(site, far, run_id, Gone("a node of the job failed", Cause.NODE_FAILURE))
    assert (run.state, run.excluded) == (State.QUEUED, after)


def hosts(states: dict[str, str]) -> list[Node]:
    """Nodes of two partitions: k is another one's."""
    common = {"cpus": 4, "busy_cpus": 0, "memory_mb": 1, "gres": "", "features": []}
    return [
        Node.model_validate({"name": name, "state": state, "partitions": ["knl" if name == "k" else "gpu"], **common})
        for name, state in states.items()
    ]

"""Slurm's words for states and reasons, translated: every word has a meaning, and an unknown word is none."""

import time
from datetime import datetime

import pytest

from contract.lifecycle.job_end import CAUSE_OF, EndKind
from contract.lifecycle.pending_reason import KIND_OF, Pending, PendingKind, PendingReason
from scheduler.clusters.cluster import Alive, Gone, gone
from scheduler.clusters.slurm import job_states
from scheduler.clusters.slurm.job_states import ALIVE_STATES, END_STATES, translate_state
from scheduler.clusters.slurm.pending_reasons import REASONS, classify_pending_reason


def test_an_unknown_state_has_no_status() -> None:
    assert translate_state("HIBERNATING", "") is None
    assert translate_state("", "") is None


def test_every_state_is_either_alive_or_an_end() -> None:
    assert not END_STATES.keys() & ALIVE_STATES.keys()
    for state, kind in END_STATES.items():
        assert translate_state(state, "") == Gone(gone(kind).end, CAUSE_OF[kind])
    for state, reason in ALIVE_STATES.items():
        assert translate_state(state, "None") == Alive(Pending(reason, state) if reason else None)


@pytest.mark.parametrize(
    ("state", "detail", "status"),
    [
        ("CANCELLED by 1000", "None", gone(EndKind.CANCELLED)),
        ("CANCELLED+", "0:0", gone(EndKind.CANCELLED)),
        ("FAILED", "4:0", gone(EndKind.FAILED, "exit code 4:0", exit_code=4)),
        ("FAILED", "0:9", gone(EndKind.FAILED, "exit code 0:9")),
        ("OUT_OF_MEMORY", "0:125", gone(EndKind.OUT_OF_MEMORY, "exit code 0:125")),
        ("FAILED", "NonZeroExitCode", gone(EndKind.FAILED, "NonZeroExitCode")),
        ("TIMEOUT", "TimeLimit", gone(EndKind.TIME_LIMIT, "TimeLimit")),
        ("PENDING", "Dependency", Alive(Pending(PendingReason.DEPENDENCY, "Dependency"))),
        ("REQUEUE_HOLD", "None", Alive(Pending(PendingReason.HELD_AFTER_REQUEUE, "REQUEUE_HOLD"))),
        ("RUNNING", "None", Alive(Pending(PendingReason.STARTING, "RUNNING"))),
    ],
)
def test_a_status_has_slurms_own_word_as_its_detail(state: str, detail: str, status: object) -> None:
    assert translate_state(state, detail) == status


@pytest.mark.parametrize("state", END_STATES)
def test_only_the_failure_of_a_node_names_hosts(state: str) -> None:
    status = translate_state(state, "None", "n[1-2]")
    assert isinstance(status, Gone)
    assert status.hosts == (("n1", "n2") if CAUSE_OF[END_STATES[state]] == "node_failure" else ())


def test_a_job_that_was_cancelled_after_its_start_names_hosts_for_one_may_have_refused_it() -> None:
    started, waiting = (translate_state("CANCELLED", "None", "n1", at) for at in ("2026-11-29T11:47:06", "N/A"))
    assert isinstance(started, Gone)
    assert isinstance(waiting, Gone)
    assert (started.hosts, waiting.hosts) == (("n1",), ())


@pytest.mark.parametrize(
    ("text", "reason", "kind"),
    [
        ("Resources", PendingReason.RESOURCES, PendingKind.RESOURCES),
        ("ReqNodeNotAvail, UnavailableNodes:gpu[1-4]", PendingReason.NODE_NOT_AVAILABLE, PendingKind.RESOURCES),
        ("QOSMaxJobsPerUserLimit", PendingReason.ACCOUNTING_LIMIT, PendingKind.QUOTA),
        ("AssocGrpCPUMinutesLimit", PendingReason.ACCOUNTING_LIMIT, PendingKind.QUOTA),
        ("AssociationJobLimit", PendingReason.ACCOUNTING_LIMIT, PendingKind.QUOTA),
        ("SomeNewLimit", PendingReason.ACCOUNTING_LIMIT, PendingKind.QUOTA),
        ("JobArrayTaskLimit", PendingReason.ARRAY_TASK_LIMIT, PendingKind.QUOTA),
        ("QOSUsageThreshold", PendingReason.QOS_USAGE, PendingKind.QUOTA),
        ("QOSMinGRES", PendingReason.MINIMUM_OF_QOS, PendingKind.QUOTA),
        ("JobHeldUser", PendingReason.HELD_BY_USER, PendingKind.HELD),
        ("launch_failed_requeued_held", PendingReason.HELD_AFTER_LAUNCH_FAILURE, PendingKind.HELD),
        ("launch failed requeued held", PendingReason.HELD_AFTER_LAUNCH_FAILURE, PendingKind.HELD),
        ("some_new_Hold", PendingReason.HELD, PendingKind.HELD),
        ("Dependency", PendingReason.DEPENDENCY, PendingKind.DEPENDENCY),
        ("BeginTime", PendingReason.BEGIN_TIME, PendingKind.DEPENDENCY),
        ("Reservation", PendingReason.RESERVATION, PendingKind.RESERVATION),
        ("SomeNewReservation", PendingReason.RESERVATION, PendingKind.RESERVATION),
        (
            "ReqNodeNotAvail(Nodes reserved for maintenance)",
            PendingReason.NODE_NOT_AVAILABLE,
            PendingKind.RESOURCES,
        ),
        ("ReqNodeNotAvail, Reserved for maintenance", PendingReason.MAINTENANCE, PendingKind.RESERVATION),
        (
            "ReqNodeNotAvail,_May_be_reserved_for_other_job",
            PendingReason.NODE_MAYBE_RESERVED,
            PendingKind.RESERVATION,
        ),
        ("SomethingNew", PendingReason.OTHER, PendingKind.OTHER),
    ],
)
def test_a_pending_reason_has_slurms_own_word_as_its_detail(
    text: str, reason: PendingReason, kind: PendingKind
) -> None:
    assert classify_pending_reason(text) == Pending(reason, text)
    assert KIND_OF[reason] is kind


@pytest.mark.parametrize("text", ["AssocMaxWallDurationPerJobLimit", "QOSMaxCpuPerNode", "AssocMaxGRESPerJob"])
def test_a_limit_for_one_job_is_a_reason_of_its_own(text: str) -> None:
    assert classify_pending_reason(text).reason is PendingReason.PER_JOB_LIMIT


def test_nodes_for_partitions_of_a_higher_priority_are_no_reservation() -> None:
    """Slurm's longest reason, in the parentheses of squeue."""
    text = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    assert classify_pending_reason(f"({text})") == Pending(PendingReason.NODES_DOWN, text)


def test_slurms_words_cover_every_kind_of_reason() -> None:
    assert {KIND_OF[reason] for reason in REASONS.values()} == set(PendingKind)


@pytest.mark.parametrize(
    ("present", "ended"),
    [
        ("2026-10-25T02:30:00+01:00", "2026-10-25T02:20:00+01:00"),
        ("2026-10-25T02:30:00+02:00", "2026-10-25T02:20:00+02:00"),
    ],
)
def test_an_end_in_the_hour_that_clocks_repeat_is_the_later_one_that_has_been(
    monkeypatch: pytest.MonkeyPatch, present: str, ended: str
) -> None:
    """Slurm prints local times without a zone: a job that ended ten minutes ago did not end before it started."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    monkeypatch.setattr(job_states, "now", lambda: datetime.fromisoformat(present))
    try:
        status = translate_state("COMPLETED", "None", "n1", "2026-10-25T02:10:00", "2026-10-25T02:20:00")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert isinstance(status, Gone)
    assert status.end.at == datetime.fromisoformat(ended)

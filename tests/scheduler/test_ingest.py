"""Collecting: every point once, every end true, and silence never taken for death."""

from dataclasses import replace

import pytest
from sqlalchemy import delete, select

from contract.folder.events import Failed, Finished, Points, Saved, Started
from contract.folder.rank_failure import Fall, Roll
from contract.folder.run_folder import GIVEN_UP
from contract.lifecycle.pending_reason import Waits
from contract.lifecycle.state import State
from contract.spec.retry import Cause
from scheduler.clusters.cluster import Alive, Gone, Unknown
from scheduler.context import Site
from scheduler.events.tail import AT_ONCE_BYTES, read_tail
from scheduler.submit.submission import launch
from scheduler.ticks.ingest import collect
from store import clusters
from store.metrics import points
from store.session import snapshot, transaction
from store.tables import Cluster, Move, Run
from tests.scheduler.conftest import Puppet, read, say

STARTED = Started(attempt=1, at=0.0, world=2, hosts=["h", "h"], device="cpu", steps=4, versions={})
FINISHED = Finished(attempt=1, at=9.0, step=4)
WORD = Failed(attempt=1, at=9.0, rank=1, reason="rank 1 on h: ValueError: no")


def told(step: int) -> Points:
    return Points(attempt=1, at=float(step), step=step, values={"loss": 1.0 / step, "heldout_accuracy": None})


@pytest.fixture
def run_id(site: Site, run_ids: list[int]) -> int:
    launch(site)
    return run_ids[0]


def losses(site: Site, run_id: int) -> list[int]:
    with snapshot(site.engine) as db:
        return points.of_run(db, run_id, ["loss"], after=-1, limit=1000)[0]["loss"][0]


def test_a_run_lives_from_its_first_word_to_its_last(site: Site, run_id: int) -> None:
    say(site, run_id, STARTED, told(1), told(2))
    collect(site)
    run = read(site, run_id)
    assert (run.state, run.step, run.latest) == (State.RUNNING, 2, {"loss": 0.5, "heldout_accuracy": None})
    say(site, run_id, told(3), told(4), FINISHED)
    collect(site)
    assert (read(site, run_id).state, losses(site, run_id)) == (State.DONE, [1, 2, 3, 4])
    with snapshot(site.engine) as db:
        moves = db.scalars(select(Move.new).where(Move.run_id == run_id).order_by(Move.id)).all()
    assert moves == ["queued", "submitting", "pending", "running", "done"]


def test_a_run_that_begins_has_nothing_more_to_wait_for(site: Site, run_id: int) -> None:
    """No look has come since: it would be shown as on hold while it trains."""
    with transaction(site.engine) as db:
        run = db.get_one(Run, run_id)
        run.waits_for, run.waits_kind = "it was put on hold by its user (JobHeldUser)", Waits.HELD
    say(site, run_id, STARTED)
    collect(site)
    run = read(site, run_id)
    assert (run.state, run.waits_for, run.waits_kind) == (State.RUNNING, None, None)


def test_a_half_written_line_waits_for_its_other_half(site: Site, run_id: int) -> None:
    line = told(1).model_dump_json()
    say(site, run_id, STARTED, torn=line[:20])
    collect(site)
    assert losses(site, run_id) == []
    say(site, run_id, torn=line[20:] + "\n")
    collect(site)
    assert losses(site, run_id) == [1]


def test_a_line_that_is_no_event_costs_nothing_but_itself(site: Site, run_id: int) -> None:
    """Forces the fault: a line torn by a crash, and one of a newer trainer with a word nobody here knows."""
    say(site, run_id, STARTED, told(1), torn='{"kind": "poi\n{"kind": "sang", "attempt": 1, "at": 0}\n\x00\xff\n')
    say(site, run_id, told(2))
    collect(site)
    assert (read(site, run_id).state, losses(site, run_id)) == (State.RUNNING, [1, 2])


def test_what_a_dead_job_wrote_last_is_stored_before_it_is_called_dead(site: Site, puppet: Puppet, run_id: int) -> None:
    say(site, run_id, STARTED, told(1), told(2))
    puppet.answers["job1"] = Gone("a node of the job failed")
    collect(site)
    run = read(site, run_id)
    assert (run.state, losses(site, run_id)) == (State.FAILED, [1, 2])
    assert run.reason == "a node of the job failed; it never began to train, see its log"


def test_a_job_that_is_gone_and_has_finished_is_done(site: Site, puppet: Puppet, run_id: int) -> None:
    say(site, run_id, STARTED, told(1), FINISHED)
    puppet.answers["job1"] = Gone("the job ended")
    collect(site)
    assert read(site, run_id).state == State.DONE


def test_what_a_checkpoint_cost_is_stored_and_a_failed_one_is_not(site: Site, run_id: int) -> None:
    whole = Saved(attempt=1, at=0.0, step=3, stall_s=0.5, write_s=2.0, size_bytes=100)
    say(
        site, run_id, whole, Saved(attempt=1, at=0.0, step=4, stall_s=9.0, write_s=9.0, size_bytes=0, error="disk full")
    )
    collect(site)
    with snapshot(site.engine) as db:
        stored, _ = points.of_run(db, run_id, ["checkpoint_stall_s", "checkpoint_bytes"], after=-1, limit=10)
    assert stored == {"checkpoint_stall_s": ([3], [0.5]), "checkpoint_bytes": ([3], [100.0])}


def test_the_first_rank_to_fall_gives_the_reason(site: Site, puppet: Puppet, run_id: int) -> None:
    folder = site.folder_of(read(site, run_id))
    folder.claim(1, "job1")
    folder.note_roll(1, Roll(hosts=["h", "h"], ahead_s=[0.0, 0.0]))
    folder.note_fall(1, Fall(at=20.0, rank=0, host="h", reason="rank 0 on h: connection closed"))
    folder.note_fall(1, Fall(at=10.0, rank=1, host="h", reason="rank 1 on h: ValueError: no"))
    puppet.answers["job1"] = Gone("exit code 1")
    collect(site)
    assert read(site, run_id).reason == "rank 1 on h: ValueError: no"


def test_where_ranks_heard_only_echoes_the_cluster_gives_the_reason(site: Site, puppet: Puppet, run_id: int) -> None:
    folder = site.folder_of(read(site, run_id))
    folder.claim(1, "job1")
    folder.note_fall(
        1, Fall(at=10.0, rank=0, host="h", reason="rank 0 on h: lost the connection to another rank", echo=True)
    )
    puppet.answers["job1"] = Gone("the job ran out of memory")
    collect(site)
    reason = "the job ran out of memory; rank 0 on h: lost the connection to another rank"
    assert read(site, run_id).reason == reason


def test_where_ranks_heard_only_echoes_the_reason_is_the_fallen_rank_s(site: Site, puppet: Puppet, run_id: int) -> None:
    """Forces the fault: rank 1 is killed; rank 0 on another host notes that it lost it, srun prints how."""
    folder = site.folder_of(read(site, run_id))
    folder.claim(1, "job1")
    folder.note_fall(1, Fall(at=10.0, rank=0, host="g", reason="rank 0 on g: rank 1 died", echo=True, lost=[1]))
    folder.log.write_text("srun: error: h: task 1: Segmentation fault\n")
    puppet.answers["job1"] = Gone("the job failed")
    collect(site)
    assert read(site, run_id).reason == "the job failed; rank 1 on h: Segmentation fault"


def test_a_job_that_never_began_says_what_its_log_does(site: Site, puppet: Puppet, run_id: int) -> None:
    site.folder_of(read(site, run_id)).log.write_text("1: slurmstepd-h: error: execve(): /no/python: No such file\n")
    puppet.answers["job1"] = Gone("the job failed")
    collect(site)
    reason = "slurmstepd-h: error: execve(): /no/python: No such file"
    assert read(site, run_id).reason == f"the job failed; it never began to train: rank 1 on h: {reason}"


@pytest.mark.parametrize("cause", [Cause.FAILURE, Cause.NODE_FAILURE])
def test_notes_that_a_lost_host_left_empty_do_not_keep_its_run_from_ending(
    site: Site, puppet: Puppet, run_id: int, cause: Cause
) -> None:
    """Forces the fault: the host's power fails before the claim, a rank's note and its end are on the disk."""
    say(site, run_id, STARTED, told(1))
    attempts = site.folder_of(read(site, run_id)).path / "attempts"
    for name in ("1.json", "1.rank-0.json", "1.end", "1.ranks"):
        (attempts / name).touch()
    puppet.answers["job1"] = Gone("a node of the job failed", cause)
    collect(site)
    run = read(site, run_id)
    assert run.state == (State.FAILED if cause is Cause.FAILURE else State.QUEUED)
    assert (run.reason or "").startswith("a node of the job failed, without a last word")


def test_a_run_that_says_it_failed_has_its_job_ended(site: Site, puppet: Puppet, run_id: int) -> None:
    say(site, run_id, STARTED, WORD)
    collect(site)
    assert (read(site, run_id).state, read(site, run_id).reason) == (State.FAILED, "rank 1 on h: ValueError: no")
    assert puppet.cancelled == [("job1", False)]


def test_a_job_whose_host_failed_before_it_began_can_begin_no_more(site: Site, puppet: Puppet, run_id: int) -> None:
    """Forces the fault: a host is cut off and taken for failed; it comes back, and the job on it would train."""
    puppet.answers["job1"] = Gone("a node of the job failed", Cause.NODE_FAILURE)
    collect(site)
    assert site.folder_of(read(site, run_id)).claim(1, "job1") == GIVEN_UP
    assert read(site, run_id).state == State.QUEUED


def test_silence_is_noted_with_its_beginning_and_kills_nothing(site: Site, puppet: Puppet, run_id: int) -> None:
    """Forces the fault: the cluster does not answer, for a while."""
    say(site, run_id, STARTED, told(1))
    puppet.answers["job1"] = Unknown("squeue gave no answer")
    collect(site)
    since = read(site, run_id).unknown_since
    say(site, run_id, told(2))
    collect(site)
    run = read(site, run_id)
    assert (run.state, run.unknown_since, losses(site, run_id)) == (State.RUNNING, since, [1, 2])
    assert since is not None
    puppet.answers["job1"] = Alive()
    collect(site)
    assert read(site, run_id).unknown_since is None


def test_a_cluster_that_another_worker_has_is_not_silent(site: Site, run_id: int) -> None:
    """Forces the fault: a worker that has no such cluster collects as well; the other one would say the opposite."""
    say(site, run_id, STARTED, told(1))
    without = replace(site, clusters={})
    with transaction(site.engine) as db:
        clusters.put(db, "local", None, None)
    collect(without)
    assert (read(site, run_id).unknown_since, losses(site, run_id)) == (None, [1])
    with transaction(site.engine) as db:
        db.execute(delete(Cluster))
    collect(without)
    assert read(site, run_id).unknown_since is not None, "nobody has it"


def test_words_of_an_earlier_attempt_move_nothing(site: Site, run_id: int) -> None:
    say(site, run_id, Finished(attempt=0, at=0.0, step=4))
    collect(site)
    assert read(site, run_id).state == State.PENDING


def test_a_collector_that_died_before_it_committed_repeats_harmlessly(
    site: Site, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the process ends after the points were written and before the transaction's end."""
    say(site, run_id, STARTED, told(1), told(2))

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("scheduler.events.apply._move_by", die)
        with pytest.raises(KeyboardInterrupt):
            collect(site)
    assert losses(site, run_id) == []
    collect(site)
    assert (losses(site, run_id), read(site, run_id).state) == ([1, 2], State.RUNNING)


def test_a_long_backlog_is_read_in_parts_and_to_its_end(site: Site, puppet: Puppet, run_id: int) -> None:
    """A scheduler that was away while a run wrote megabytes, and came back after its job's end."""
    events = site.folder_of(read(site, run_id)).events
    wide = Points(attempt=1, at=0.0, step=1, values={f"layer{n}": 1.0 for n in range(100)})
    count = 2 * AT_ONCE_BYTES // len(wide.model_dump_json())
    say(site, run_id, STARTED, *(wide.model_copy(update={"step": step}) for step in range(1, count + 1)), FINISHED)
    assert read_tail(events, 0).more
    puppet.answers["job1"] = Gone("the job ended")
    collect(site)
    assert (read(site, run_id).state, read(site, run_id).step) == (State.DONE, count)


def test_one_runs_trouble_does_not_keep_the_others_waiting(
    site: Site, run_ids: list[int], run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the first run's events cannot be read."""
    say(site, run_ids[1], STARTED, told(1))
    broken = site.folder_of(read(site, run_id)).events
    broken.mkdir()
    collect(site)
    assert read(site, run_ids[1]).state == State.RUNNING

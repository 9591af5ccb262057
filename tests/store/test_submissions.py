"""Submissions of many runs: each run is taken by one worker, under a name that no other attempt has."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from contract.lifecycle.reason import SubmissionDeferred
from contract.lifecycle.state import State
from store import runs, submissions, transitions
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.submissions import Group, LiveJobs
from store.tables.base import now
from store.tables.experiments import Experiment as Stored
from store.tables.runs import Move, Run
from tests.testing.specs import Experiment, changed
from tests.testing.stored_runs import move

pytestmark = pytest.mark.ring("quick")


@pytest.fixture
def run_ids(engine: Engine, experiment: Experiment) -> list[int]:
    with transaction(engine) as db:
        return creation.create(db, experiment({"seed": list(range(20))}))[1]


def placed(db: Session, name: str, job_id: str) -> list[int]:
    """Store the cluster's id of a submission; return the runs that were still submitting."""
    return transitions.apply_to_submission(db, name, State.PENDING, job_id=job_id)


def waiting(engine: Engine) -> list[Run]:
    with snapshot(engine) as db:
        return list(runs.queued(db, "local", 100))


def test_runs_of_one_need_are_one_group_and_a_capped_experiment_has_its_own(
    engine: Engine, experiment: Experiment
) -> None:
    with transaction(engine) as db:
        creation.create(db, experiment({"seed": [0, 1]}))
        creation.create(db, experiment({"seed": [0, 1], "resources.ranks_per_node": [2, 4]}))
        capped, _ = creation.create(db, experiment({"seed": [0, 1, 2]}))
        db.get_one(Stored, capped).max_parallel = 2
    with snapshot(engine) as db:
        groups = submissions.groups(db, "local")
        assert [(group.size, group.experiment_id, group.max_parallel) for group in groups] == [
            (4, None, None),
            (2, None, None),
            (3, capped, 2),
        ]
        found = [[run.id for run in submissions.members(db, "local", group, 100)] for group in groups]
    assert [len(ids) for ids in found] == [4, 2, 3]
    assert sorted(id_ for ids in found for id_ in ids) == list(range(1, 10))


def test_four_workers_that_take_the_same_twenty_runs_get_each_run_once(engine: Engine, run_ids: list[int]) -> None:
    """Forces the race: four threads have seen the same queued runs before the first of them takes any."""
    barrier, taken = threading.Barrier(4), {}

    def take(name: str) -> None:
        seen = waiting(engine)
        barrier.wait()
        with transaction(engine) as db:
            taken[name] = [run.id for run in submissions.take(db, seen, name)] if seen else []

    threads = [threading.Thread(target=take, args=(f"worker{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(id_ for ids in taken.values() for id_ in ids) == run_ids
    with snapshot(engine) as db:
        moves = db.scalars(select(Move.run_id).where(Move.new == State.SUBMITTING)).all()
        for name, ids in taken.items():
            assert [run.id for run in submissions.named(db, name)] == ids
    assert sorted(moves) == run_ids


def test_a_placed_array_gives_each_run_its_task(engine: Engine, run_ids: list[int]) -> None:
    with transaction(engine) as db:
        submissions.take(db, runs.queued(db, "local", 3), "three")
        submissions.take(db, runs.queued(db, "local", 1), "one")
    with transaction(engine) as db:
        assert placed(db, "three", "77") == run_ids[:3]
        assert placed(db, "one", "78") == [run_ids[3]]
        assert placed(db, "three", "99") == [], "what was placed is placed once"
        assert submissions.count_live_runs(db, "local") == {"one": 1, "three": 3}
    with snapshot(engine) as db:
        pending = runs.in_state(db, State.PENDING)
        assert [(job.external_id, job.array_task, job.attempt) for run in pending if (job := run.current_job)] == [
            ("77_0", 0, 1),
            ("77_1", 1, 1),
            ("77_2", 2, 1),
            ("78", None, 1),
        ]


def test_a_run_that_was_asked_to_stop_is_left_out(engine: Engine, run_ids: list[int]) -> None:
    seen = waiting(engine)
    with transaction(engine) as db:
        runs.request_stop(db, Run.id == run_ids[1])
        assert [run.id for run in submissions.take(db, seen[:3], "name")] == [run_ids[0], run_ids[2]]


def test_a_group_that_has_to_wait_is_none(engine: Engine, run_ids: list[int]) -> None:
    with transaction(engine) as db:
        submissions.take(db, runs.queued(db, "local", 20), "name")
        later = now().replace(year=2100)
        transitions.apply_to_submission(
            db, "name", State.QUEUED, SubmissionDeferred(message="not now"), not_before=later
        )
        assert submissions.groups(db, "local") == []
        db.get_one(Run, run_ids[0]).not_before = None
        db.flush()
        assert submissions.groups(db, "local") == [Group(db.get_one(Run, 1).need, 1, None, None, None, 1)]


def test_a_pack_gives_each_run_a_place_in_a_job_and_a_job_is_shared_while_another_run_goes_on(
    engine: Engine, experiment: Experiment
) -> None:
    with transaction(engine) as db:
        packed, run_ids = creation.create(db, changed(experiment({"seed": list(range(5))}), pack=2))
        assert submissions.groups(db, "local") == [Group(db.get_one(Run, 1).need, 0, packed, None, None, 5, 2)]
        submissions.take(db, runs.queued(db, "local", 5), "packs", pack=2)
    with transaction(engine) as db:
        placed(db, "packs", "77")
        found = list(submissions.named(db, "packs"))
        assert [run.id for run in found] == run_ids
        places = [("77_0", 0), ("77_0", 1), ("77_1", 0), ("77_1", 1), ("77_2", 0)]
        assert [(job.external_id, job.pack_member) for run in found if (job := run.current_job)] == places
        assert submissions.count_live_jobs(db, "local", ended_after=now()) == {"": LiveJobs(accepted=3)}
        ending = [found[0], *found[2:]]
        assert submissions.shared_jobs(db, ending) == {("packs", 0)}
        move(db, found[1], State.DONE)
    with snapshot(engine) as db:
        assert submissions.shared_jobs(db, ending) == set()
        assert submissions.count_live_jobs(db, "local", ended_after=now()) == {"": LiveJobs(accepted=3)}


def test_a_withdrawn_submission_leaves_the_runs_as_they_were_and_its_name_is_not_used_again(
    engine: Engine, run_ids: list[int]
) -> None:
    """Forces the race: a worker has seen the runs before another one took them and withdrew its submission."""
    stale = waiting(engine)
    reason = SubmissionDeferred(message="the cluster admits no more jobs")
    with transaction(engine) as db:
        assert len(submissions.take(db, stale[:3], "first")) == 3
    with transaction(engine) as db:
        assert transitions.withdraw_submission(db, "first", reason) == run_ids[:3]
        assert transitions.withdraw_submission(db, "first", reason) == []
    with transaction(engine) as db:
        assert submissions.take(db, stale[:3], "first") == [], "the name of `stale` is used up"
        first, other = db.get_one(Run, run_ids[0]), db.get_one(Run, run_ids[19])
        assert [(run.state, run.attempt, run.current_job_id, run.jobs) for run in (first, other)] == [
            (State.QUEUED, 0, None, [])
        ] * 2
        assert (first.withdrawn, other.withdrawn, first.reason) == (1, 0, reason)
        moves = db.scalars(select(Move.new).where(Move.run_id == first.id)).all()
        assert moves == [State.QUEUED]


def test_a_withdrawn_submission_of_a_later_attempt_gives_the_run_the_job_of_before(
    engine: Engine, run_ids: list[int]
) -> None:
    with transaction(engine) as db:
        submissions.take(db, waiting(engine)[:1], "one")
        placed(db, "one", "77")
        move(db, db.get_one(Run, run_ids[0]), State.QUEUED)
    with transaction(engine) as db:
        submissions.take(db, waiting(engine)[:1], "two")
        transitions.withdraw_submission(db, "two", SubmissionDeferred(message="full"))
    with snapshot(engine) as db:
        run = db.get_one(Run, run_ids[0], options=[runs.WITH_JOB])
        assert (run.attempt, run.current_job and run.current_job.name, len(run.jobs)) == (1, "one", 1)


def test_a_job_whose_run_has_just_ended_counts_as_leaving_until_its_end_is_observed(
    engine: Engine, run_ids: list[int]
) -> None:
    with transaction(engine) as db:
        submissions.take(db, waiting(engine)[:3], "three")
        placed(db, "three", "77")
        move(db, db.get_one(Run, run_ids[0]), State.DONE, ended_at=now())
        submissions.take(db, waiting(engine)[3:4], "four")
    before = now() - timedelta(seconds=60)
    with transaction(engine) as db:
        assert submissions.count_live_jobs(db, "local", ended_after=before) == {"": LiveJobs(2, 1, 1)}
        assert submissions.count_live_jobs(db, "local", ended_after=before, besides="four") == {"": LiveJobs(2, 0, 1)}
        job = db.get_one(Run, run_ids[0], options=[runs.WITH_JOB]).current_job
        assert job
        job.is_gone = True
        db.flush()
        assert submissions.count_live_jobs(db, "local", ended_after=before) == {"": LiveJobs(2, 1, 0)}

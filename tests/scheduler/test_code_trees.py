"""Code snapshots at a submission: the tree is there before the cluster is called, and every attempt has the same."""

import errno
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from contract.lifecycle.reason import CodeUnavailable, FolderNotWritable
from contract.lifecycle.state import State
from contract.snapshot import code_tree
from contract.snapshot.blob_store import GRACE_S, blob_name
from contract.snapshot.code_tree import has_tree, tree_of
from contract.spec.expanded import read_experiment
from scheduler.clusters.cluster import ArrayRequest, JobRequest
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.prune import prune
from store import snapshots
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Run
from store.tables.snapshots import Snapshot
from tests.contract.snapshot.test_garbage import make_old
from tests.testing.clusters import Puppet
from tests.testing.runs import move, read, sentence, states, submit_from_eight
from tests.testing.snapshots import store_tree
from tests.testing.stored_runs import find_current_job

FILES = {"train.py": b"print(1)\n", "lib/net.py": b"net = 1\n"}


def stored(context: Context, files: dict[str, bytes]) -> str:
    """Store a snapshot as the API does."""
    name, manifest = store_tree(context.blob_store, files)
    with transaction(context.engine) as db:
        snapshots.store(db, name, manifest, None)
    return name


def create(context: Context, *codes: str | None) -> list[int]:
    """Create one run for each snapshot."""
    ids = []
    for code in codes:
        base = {"kind": "program", "command": "python train.py", "launcher": "plain", "code": code}
        spec = read_experiment({"name": "code", "base": base})
        with transaction(context.engine) as db:
            ids += creation.create(db, spec)[1]
    return ids


def make_due(context: Context) -> None:
    with transaction(context.engine) as db:
        db.execute(update(Run).values(not_before=None))


def test_the_tree_is_complete_before_the_cluster_is_called(
    context: Context, puppet: Puppet, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = stored(context, FILES)
    found: list[bytes] = []
    submit = puppet.submit

    def look(job: JobRequest | ArrayRequest) -> str:
        found.append((tree_of(context.runs_folder, name) / "train.py").read_bytes())
        return submit(job)

    monkeypatch.setattr(puppet, "submit", look)
    create(context, name, None)
    submit_queued(context)
    assert found[0] == FILES["train.py"]
    assert states(context) == [State.PENDING, State.PENDING]


def test_another_attempt_has_the_same_tree_though_the_store_changed(context: Context) -> None:
    name = stored(context, FILES)
    (run_id,) = create(context, name)
    submit_queued(context)
    tree = tree_of(context.runs_folder, name)
    inode = tree.stat().st_ino
    with transaction(context.engine) as db:
        run = db.get_one(Run, run_id)
        move(db, run, State.RUNNING)
        move(db, run, State.QUEUED)
        find_current_job(db, run).is_gone = True
    (context.blob_store.root / "manifests" / f"{name}.json").unlink()
    submit_queued(context)
    assert (read(context, run_id).attempt, tree.stat().st_ino) == (2, inode)


def test_a_damaged_snapshot_fails_its_runs_and_no_others(context: Context) -> None:
    name, healthy = stored(context, FILES), stored(context, {"other.py": b"1"})
    manifest = context.blob_store.read_manifest(name)
    (context.blob_store.root / blob_name(manifest.files[0].sha256)).write_bytes(b"net = 2\n")
    damaged_id, healthy_id, plain_id = create(context, name, healthy, None)
    submit_queued(context)
    assert states(context) == [State.FAILED, State.PENDING, State.PENDING]
    run = read(context, damaged_id)
    assert isinstance(run.reason, CodeUnavailable)
    assert "damaged" in (sentence(run) or "")
    assert healthy_id < plain_id


def test_a_snapshot_that_is_not_visible_yet_is_tried_again(context: Context) -> None:
    """The fault: a shared file system shows the manifest to the scheduler later than to the API."""
    name = stored(context, FILES)
    path = context.blob_store.root / "manifests" / f"{name}.json"
    hidden = path.rename(path.with_suffix(".hidden"))
    (run_id,) = create(context, name)
    submit_queued(context)
    run = read(context, run_id)
    assert run.state is State.QUEUED
    assert isinstance(run.reason, CodeUnavailable)
    assert run.not_before
    assert run.not_before > now()
    hidden.rename(path)
    make_due(context)
    submit_queued(context)
    assert states(context) == [State.PENDING]


def test_a_full_disk_defers_the_submission(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault: the disk of the run folders is full while the tree is made."""
    name = stored(context, FILES)
    (run_id,) = create(context, name)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(code_tree, "_write", full)
        submit_queued(context)
    run = read(context, run_id)
    assert (run.state, run.attempt) == (State.QUEUED, 1)
    assert isinstance(run.reason, FolderNotWritable)
    assert "the code folder cannot be written" in (sentence(run) or "")
    assert list((context.runs_folder / ".code").iterdir()) == []
    make_due(context)
    submit_queued(context)
    assert states(context) == [State.PENDING]


@pytest.mark.ring("all")
def test_eight_workers_make_one_tree_and_submit_once(context: Context, puppet: Puppet) -> None:
    name = stored(context, {f"{number}.py": str(number).encode() for number in range(300)})
    create(context, *[name] * 8)
    submit_from_eight(context)
    assert states(context) == [State.PENDING] * 8
    assert [path.name for path in (context.runs_folder / ".code").iterdir()] == [name]


def test_a_worker_that_lost_its_lease_while_it_made_the_tree_submits_nothing(
    context: Context, puppet: Puppet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault: making the tree takes longer than the lease, and another worker gives the submission up."""
    name = stored(context, FILES)
    create(context, name)
    monkeypatch.setattr("scheduler.submit.folders.Lease.renew_if_due", lambda self: False)
    submit_queued(context)
    assert states(context) == [State.SUBMITTING]
    assert not has_tree(context.runs_folder, name)


def stale(context: Context) -> None:
    """Let a day and a minute pass for the snapshots, in the database and on disk."""
    with transaction(context.engine) as db:
        db.execute(update(Snapshot).values(used_at=now() - timedelta(seconds=GRACE_S + 60)))
    (context.runs_folder / ".code").mkdir(exist_ok=True)
    make_old(context.blob_store.root, context.runs_folder / ".code")


def names(context: Context) -> set[str]:
    with snapshot(context.engine) as db:
        return snapshots.stored(db)


def test_prune_removes_snapshots_that_no_run_names(context: Context) -> None:
    used, unused = stored(context, FILES), stored(context, {"x": b"x"})
    (run_id,) = create(context, used)
    submit_queued(context)
    stale(context)
    young = stored(context, {"y": b"y"})
    prune(context)
    assert names(context) == {used, young}
    assert context.blob_store.read_manifest(used)
    assert not (context.blob_store.root / "manifests" / f"{unused}.json").exists()
    assert has_tree(context.runs_folder, used)
    with transaction(context.engine) as db:
        run = db.get_one(Run, run_id)
        move(db, run, State.RUNNING)
        move(db, run, State.DONE)
    later = replace(context, memory=type(context.memory)())
    prune(later)
    assert not has_tree(context.runs_folder, used)  # the tree can be made again; the snapshot stays for reruns
    assert names(context) == {used, young}


def test_prune_looks_at_snapshots_once_an_hour(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Path] = []
    monkeypatch.setattr("scheduler.ticks.prune.remove_trees", lambda folder, *_: calls.append(folder))
    prune(context)
    prune(context)
    assert len(calls) == 1


def test_an_experiment_that_comes_before_the_removal_saves_its_snapshot(context: Context) -> None:
    """The race: the API accepts an experiment while the collection removes unused snapshots."""
    name = stored(context, FILES)
    stale(context)
    cutoff = now() - timedelta(seconds=GRACE_S)
    ready, removed = threading.Event(), list[list[str]]()

    def collect() -> None:
        ready.wait()
        with transaction(context.engine) as db:
            removed.append(snapshots.remove_unused(db, cutoff))

    other = threading.Thread(target=collect)
    other.start()
    with transaction(context.engine) as db:
        assert snapshots.missing(db, [name]) == []
        ready.set()
        other.join(0.3)  # the collection waits for this transaction, or sees nothing of it
    other.join()
    assert removed == [[]]
    assert names(context) == {name}

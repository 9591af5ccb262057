"""A job may leave links, FIFOs and huge files in its folder: no tick waits, and no other file is read or written."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from contract.folder.files.untrusted_file import UnreadableFileError
from contract.folder.run_folder import ABANDONED, CLAIM_VISIBLE_S, UNREADABLE, RunFolder
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.state import State
from scheduler.clusters.cluster import JobRequest, RefusedError, gone
from scheduler.clusters.local import Local
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.context import Context
from scheduler.events.tail import Tail, has_grown, read_tail
from scheduler.jobs.liveness import Liveness, read_liveness
from scheduler.jobs.packed import end_of_part
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from tests.testing.clusters import SLURM, Far
from tests.testing.events import STARTED, report
from tests.testing.hostile_files import HUGE, IRREGULAR, PLANTS, SECRET, bounded_memory, plant
from tests.testing.runs import create_runs, job_of, poll_now, read, report_gone
from tests.testing.specs import Experiment

pytestmark = pytest.mark.timeout(60)  # a FIFO would block its reader for good
FAILED = gone(EndKind.FAILED, "RaisedSignal:9")
FILES = ["out.log", "events.jsonl"] + [
    f"attempts/1.{suffix}" for suffix in ("ranks", "log", "rank-0.json", "again", "beat", "end")
]


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    with bounded_memory():
        yield


@pytest.fixture
def folder(far_context: Context, far_run_id: int) -> RunFolder:
    """The folder of a running run."""
    report(far_context, far_run_id, STARTED)
    folder = far_context.folder_of(read(far_context, far_run_id))
    folder.claim(1, "job1")
    folder.log.touch()
    ingest(far_context)
    return folder


@pytest.fixture
def job(tmp_path: Path, experiment: Experiment) -> JobRequest:
    """The second attempt of a run whose first job may have changed the folder."""
    folder, spec = RunFolder.of(tmp_path, 1, "cafe"), experiment().spec.base
    folder.prepare(spec, 1)
    return JobRequest("bigbatch-cafe-2", folder, 2, spec)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("kind", PLANTS)
def test_runs_end_with_their_jobs_whatever_their_jobs_left(
    far_context: Context, far: Far, experiment: Experiment, kind: str
) -> None:
    """Forces hostile jobs: each replaces one of its files, and ends."""
    ids = dict(zip(FILES, create_runs(far_context, experiment, len(FILES)), strict=True))
    submit_queued(far_context)
    for name, run_id in ids.items():
        report(far_context, run_id, STARTED)
        plant(far_context.folder_of(read(far_context, run_id)).path / name, kind)
        far.answers[str(job_of(far_context, run_id).external_id)] = FAILED
    poll_now(far_context)
    ingest(far_context)
    for name, run_id in ids.items():
        run = read(far_context, run_id)
        was_requeued = name == "attempts/1.again" and kind == HUGE  # of this file only the name counts
        assert run.state is (State.QUEUED if was_requeued else State.FAILED), name
        assert SECRET not in str(run.reason), name


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("kind", PLANTS)
def test_a_claim_that_cannot_be_read_is_held_and_costs_no_wait(
    far_context: Context, far: Far, far_run_id: int, folder: RunFolder, kind: str
) -> None:
    """Forces a hostile job: it replaces its claim. Nothing waits the ten seconds for a claim that NFS shows late."""
    plant(folder.path / "attempts" / "1.json", kind)
    began = time.monotonic()
    assert (folder.read_claim(1), folder.claim(1, ABANDONED)) == (UNREADABLE, UNREADABLE)
    assert time.monotonic() - began < CLAIM_VISIBLE_S
    assert report_gone(far_context, far, far_run_id, FAILED).state is State.FAILED


def test_a_linked_folder_of_attempts_is_neither_read_nor_written(
    far_context: Context, far: Far, far_run_id: int, folder: RunFolder, tmp_path: Path
) -> None:
    """Forces a hostile job: its folder `attempts` is a link to a folder with all files of an attempt."""
    elsewhere, attempts = tmp_path / "elsewhere", folder.path / "attempts"
    attempts.rename(elsewhere)
    attempts.symlink_to(elsewhere)
    for suffix, text in (("end", "0"), ("beat", ""), ("again", "job1"), ("stop", "TERM"), ("address", SECRET)):
        (elsewhere / f"1.{suffix}").write_text(text)
    before = {path: path.read_bytes() for path in elsewhere.iterdir()}
    part = SimpleNamespace(attempt=1, pack_member=0)
    assert (folder.read_claim(1), folder.read_part_exit(1), end_of_part(folder, part)) == (UNREADABLE, None, None)
    assert (folder.has_started_again(1), folder.read_roster(1), folder.read_rank_failures(1)) == (False, None, [])
    assert read_liveness(far_context.memory, folder, 1) is Liveness.SILENT
    for write in (
        lambda: folder.claim(2, ABANDONED),
        lambda: folder.request_end(1, force=True),
        lambda: folder.prepare(folder.read_spec(), 2),
    ):
        with pytest.raises(UnreadableFileError, match="attempts"):
            write()
    assert report_gone(far_context, far, far_run_id, FAILED).state is State.FAILED
    assert {path: path.read_bytes() for path in elsewhere.iterdir()} == before


def test_a_request_to_end_replaces_a_link_and_not_its_target(folder: RunFolder) -> None:
    """Forces a hostile job: the file of the request, the spec and the mark of the log are links to another file."""
    spec = folder.read_spec()
    for name in ("attempts/1.stop", "spec.json", "attempts/2.log"):
        plant(folder.path / name, "link to a file")
    folder.request_end(1, force=True)
    folder.prepare(spec, 2)
    assert (folder.read_end_request(1), folder.read_spec()) == ("KILL", spec)
    assert {path.read_text() for path in folder.path.rglob("secret.txt")} == {f"{SECRET}\n"}


@pytest.mark.parametrize("kind", IRREGULAR)
def test_a_log_that_is_not_regular_refuses_the_next_local_attempt(job: JobRequest, kind: str) -> None:
    """Forces a hostile job: it replaces its log, into which this worker would write, or at which it would wait."""
    plant(job.folder.log, kind)
    with pytest.raises(RefusedError, match=r"could not be started.*out\.log"):
        Local().submit(job)
    assert not (job.folder.path / "nowhere").exists()


def test_the_script_of_the_next_attempt_is_not_written_through_a_link(
    job: JobRequest, experiment: Experiment, tmp_path: Path
) -> None:
    """Forces a hostile job: the folder of scripts is a link to another folder, such as one of start-up files."""
    (tmp_path / "elsewhere").mkdir()
    job.folder.submission.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match="cannot be written"):
        Slurm().submit(job._replace(spec=experiment(resources=SLURM).spec.base))
    assert not list((tmp_path / "elsewhere").iterdir())


def test_events_of_gigabytes_are_read_in_parts(folder: RunFolder) -> None:
    plant(folder.events, HUGE)
    assert has_grown(folder, 0)
    assert read_tail(folder, 0).events == []


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("kind", IRREGULAR)
def test_events_that_are_not_regular_have_no_lines(folder: RunFolder, kind: str) -> None:
    plant(folder.events, kind)
    with pytest.raises(UnreadableFileError):
        has_grown(folder, 0)
    assert read_tail(folder, 7) == Tail([], 7, False)

"""The record of a rank's end: echoes of another rank's failure, and kills by a memory limit, are told apart."""

import json
from pathlib import Path

import pytest

from agent.folder import rank_ends
from agent.folder.rank_ends import RankEnd, first_failure, read_statuses, record_end
from agent.folder.run_folder import RunFolder as AgentFolder
from agent.ranks.placement import expand_counts, expand_hosts
from agent.ranks.supervisor import count_oom_kills
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from tests.testing.programs import program_folder

LOST = "RuntimeError: gloo/transport/tcp/pair.cc: Connection closed by peer [10.0.0.2]:17083"
TORCH = "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"


def written(folder: RunFolder, *ends: RankEnd) -> None:
    for end in ends:
        record_end(AgentFolder(folder.path), 1, end, is_shared=True)


def record_said(folder: RunFolder, end: RankEnd, said: str, *, world: int = 2) -> None:
    """Record the end of a rank that has said this to its errors."""
    record_end(AgentFolder(folder.path), 1, end, is_shared=False, said=[said], world=world)


def raised(error: str, *, prefix: str = "", file: str = "/mine/train.py") -> str:
    """Return the traceback of an error."""
    lines = ["Traceback (most recent call last):", f'  File "{file}", line 5, in <module>', "    step()", error]
    return "".join(f"{prefix}{line}\n" for line in lines)


def test_a_rank_that_lost_a_connection_is_an_echo(tmp_path: Path) -> None:
    """Forces the order: the rank that lost its connection ends first."""
    folder = program_folder(tmp_path, "true")
    record_said(folder, RankEnd(0, "a", 1), raised(LOST, prefix="[rank0]: ", file=TORCH))
    record_said(folder, RankEnd(1, "b", 1), raised("ValueError: no such file"))
    assert [(one.rank, one.echo) for one in folder.read_rank_failures(1)] == [(1, False), (0, True)]
    first = first_failure(AgentFolder(folder.path), 1)
    assert first is not None
    assert (first["rank"], first["reason"], first["kind"]) == (
        1,
        "rank 1 on b: ValueError: no such file",
        "python_error",
    )


def test_the_only_rank_of_an_attempt_is_no_echo(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "true")
    record_said(folder, RankEnd(0, "a", 1), raised(LOST, file=TORCH), world=1)
    (failure,) = folder.read_rank_failures(1)
    assert (failure.echo, failure.reason) == (False, f"rank 0 on a: {LOST}")


def test_a_rank_that_a_signal_ended_is_named_beside_one_that_lost_its_connection(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "true")
    record_said(folder, RankEnd(0, "a", 1), raised(LOST, prefix="[rank0]: ", file=TORCH))
    record_said(folder, RankEnd(1, "b", -9), raised("KeyError: 'an error that the program handled'"))
    first, echo = folder.read_rank_failures(1)
    assert (first.reason, first.kind, first.trace) == ("rank 1 on b: killed by SIGKILL", FailureKind.SIGNAL, "")
    assert (echo.rank, echo.echo) == (0, True)


@pytest.mark.parametrize("status", [-6, -9, -11, 139])
def test_an_error_that_ended_a_rank_is_named_if_the_rank_crashes_behind_it(tmp_path: Path, status: int) -> None:
    folder = program_folder(tmp_path, "true")
    record_said(folder, RankEnd(1, "b", status), raised("ValueError: no", prefix="[rank1]: "))
    (failure,) = folder.read_rank_failures(1)
    assert (failure.reason, failure.kind) == ("rank 1 on b: ValueError: no", FailureKind.PYTHON_ERROR)


def test_a_rank_that_nccl_aborts_because_another_one_has_gone_is_an_echo(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "true")
    said = (
        "terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  NCCL error in: x.cpp:29\n"
    )
    for rank, rest in enumerate(("ncclRemoteError: a remote process exited", "ncclInternalError: a bug")):
        record_said(folder, RankEnd(rank, "a", -6), said.replace("x.cpp:29", rest))
    assert [(one.rank, one.echo, one.kind.value) for one in folder.read_rank_failures(1)] == [
        (1, False, "signal"),
        (0, True, "signal"),
    ]


def test_a_kill_by_the_memory_limit_is_no_error_of_the_program(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "true")
    record_said(folder, RankEnd(0, "a", -9, is_out_of_memory=True), raised("ValueError: no", prefix="[rank0]: "))
    assert folder.read_rank_failures(1)[0].kind is FailureKind.OUT_OF_MEMORY


def test_a_kill_by_the_memory_limit_is_out_of_memory(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "true")
    written(folder, RankEnd(0, "a", -9, is_out_of_memory=True))
    (failure,) = folder.read_rank_failures(1)
    assert failure.kind is FailureKind.OUT_OF_MEMORY


def test_a_record_that_the_program_wrote_stays(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "true")
    own = {"at": 1.0, "rank": 0, "host": "a", "reason": "no data", "kind": "python_error"}
    (folder.path / "attempts" / "1.rank-0.json").write_text(json.dumps(own))
    written(folder, RankEnd(0, "a", 1))
    assert folder.read_rank_failures(1)[0].reason == "no data"


@pytest.mark.parametrize("version", [1, 2])
def test_the_kernels_count_is_read_in_both_versions(tmp_path: Path, version: int) -> None:
    name = "memory/job/memory.oom_control" if version == 1 else "job/memory.events"
    file = tmp_path / "sys" / name
    file.parent.mkdir(parents=True)
    file.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    line = "4:memory:/job" if version == 1 else "0::/job"
    (tmp_path / "cgroup").write_text(f"7:cpu:/other\n{line}\n")
    assert count_oom_kills(tmp_path / "cgroup", tmp_path / "sys") == 3


def test_slurms_lists_are_expanded() -> None:
    assert expand_hosts("n[1-2,07],gpu3,a[1-2]b[3-4]") == ["n1", "n2", "n07", "gpu3", "a1b3", "a1b4", "a2b3", "a2b4"]
    assert expand_counts("4(x2),3") == [4, 4, 3]


def test_an_exit_status_that_a_full_disk_rejects_is_written_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the disk is full at the end of a rank, for whose exit status the first agent waits."""
    folder, write, refused = program_folder(tmp_path, "true"), AgentFolder.write, list[str]()

    def write_later(self: AgentFolder, name: str, text: str, *, mode: int = 0o666) -> None:
        if len(refused) < 2:
            refused.append(name)
            raise OSError(28, "No space left on device")
        write(self, name, text, mode=mode)

    monkeypatch.setattr(AgentFolder, "write", write_later)
    monkeypatch.setattr(rank_ends, "RETRY_EVERY_S", 0.01)
    written(folder, RankEnd(3, "a", 0))
    assert (refused, read_statuses(AgentFolder(folder.path), 1)) == (["1.exit-3"] * 2, {3: 0})

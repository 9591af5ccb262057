"""Every error of a torch.distributed program is named: by its rank's record and, of several ranks, in its own lines."""

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contract.diagnosis.diagnose import EndedAttempt, diagnose_failure
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import Failure, FailureKind
from tests.testing.programs import agent_words, events_of, program_folder, run_agent

TWO = {"kind": "local", "ranks_per_node": 2}
VENV = {"venv": str(Path(sys.executable).parents[1])}
TORCHRUN = "torchrun --standalone --nproc-per-node 2"
SPAWN = """
import os, sys, torch.multiprocessing as mp
def start(rank):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    exec(open(sys.argv[1]).read())
if __name__ == "__main__":
    mp.spawn(start, nprocs=2)
"""
# rank 0 waits for rank 1, which fails in the way of the argument
FAILS = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
if dist.get_rank() == 1:
    {failure}
dist.all_reduce(torch.ones(1))
"""
RAISES = 'raise ValueError("lr is negative")'


def failed(root: Path, command: str | list[str], *, failure: str = RAISES, **fields: Any) -> RunFolder:
    """Carry out a program whose rank 1 fails; `fails.py` and `spawn.py` are in its first word's folder."""
    (root / "fails.py").write_text(FAILS.format(failure=failure))
    (root / "spawn.py").write_text(SPAWN)
    folder = program_folder(root, command, environment=VENV, working_folder=str(root), **fields)
    assert run_agent(folder) == 1
    return folder


def why(folder: RunFolder) -> Failure:
    failure = diagnose_failure(folder, EndedAttempt(1, ExitCause.FAILURE, None, [], "local"))
    assert failure is not None
    return failure


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("launcher", ["srun", "torchrun"])
def test_an_error_after_the_ranks_have_met_is_that_of_its_rank(tmp_path: Path, launcher: str) -> None:
    folder = failed(tmp_path, ["python", "fails.py"], resources=TWO, launcher=launcher)
    first, *echoes = folder.read_rank_failures(1)
    assert (first.rank, first.kind, first.echo) == (1, FailureKind.PYTHON_ERROR, False)
    assert first.reason.endswith(": ValueError: lr is negative")
    assert first.reason.startswith("rank 1 on ")
    assert all(echo.echo for echo in echoes)
    assert why(folder).reason == first.reason
    assert why(folder).evidence.splitlines()[-1] == "ValueError: lr is negative"
    last = events_of(folder)[-1]
    assert (last.kind, getattr(last, "reason", "")) == ("failed", first.reason)
    assert "1: [rank1]: ValueError: lr is negative" in folder.log.read_text().splitlines()


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (f"{TORCHRUN} fails.py", "rank 1 of torchrun: ValueError: lr is negative"),
        (f"{TORCHRUN} --tee 3 --log-dir logs fails.py", "rank 1 of torchrun: ValueError: lr is negative"),
        (f"{TORCHRUN} fails.py 2>&1 | tee -a shown", "rank 1 of torchrun: ValueError: lr is negative"),
        ("python spawn.py fails.py", "process 1: ValueError: lr is negative"),
    ],
    ids=["torchrun", "tee", "pipe", "mp.spawn"],
)
def test_an_error_below_a_launcher_of_the_programs_own_is_named(tmp_path: Path, command: str, reason: str) -> None:
    folder = failed(tmp_path, command, launcher="plain")
    assert why(folder).reason.endswith(f": {reason}")
    assert why(folder).kind is FailureKind.PYTHON_ERROR


@pytest.mark.ring("all")
def test_a_killed_rank_of_the_programs_own_torchrun_is_named(tmp_path: Path) -> None:
    folder = failed(tmp_path, f"{TORCHRUN} fails.py", failure="os.kill(os.getpid(), 9)", launcher="plain")
    assert why(folder).reason.endswith("rank 1 of torchrun: killed by SIGKILL")
    assert why(folder).kind is FailureKind.SIGNAL


@pytest.mark.ring("all")
def test_a_killed_rank_is_named_beside_one_that_lost_its_connection(tmp_path: Path) -> None:
    folder = failed(tmp_path, ["python", "fails.py"], failure="os.kill(os.getpid(), 9)", resources=TWO)
    assert why(folder).reason.endswith(": killed by SIGKILL")
    assert [(one.rank, one.echo) for one in folder.read_rank_failures(1)] == [(1, False), (0, True)]


def test_an_error_is_named_whichever_rank_ends_first(tmp_path: Path) -> None:
    """Forces the order: the rank that lost its connection ends before the one that failed."""
    code = (
        "import os, sys, time\n"
        "if os.environ['RANK'] == '1':\n"
        "    while not os.path.exists('attempts/1.rank-0.json'): time.sleep(0.01)\n"
        "    raise KeyError('lr')\n"
        "sys.exit('[rank0]: RuntimeError: gloo: Connection closed by peer')\n"
    )
    folder = program_folder(tmp_path, [sys.executable, "-c", code], resources=TWO)
    assert run_agent(folder) == 1
    assert why(folder).reason.endswith(": KeyError: 'lr'")
    assert (why(folder).rank, why(folder).falls[-1].echo) == (1, True)


def test_lines_of_several_ranks_have_labels_and_stay_whole(tmp_path: Path) -> None:
    line = "for n in $(seq 50); do printf 'st'; printf 'ep\\n'; printf '10%%\\r20%%\\n'; done; printf end >&2"
    folder = program_folder(tmp_path, line, resources={"kind": "local", "ranks_per_node": 11})
    assert run_agent(folder) == 0
    lines = folder.log.read_text().splitlines()
    assert sorted(lines) == sorted(
        f"{rank:>2}: {text}" for rank in range(11) for text in ["step", "20%"] * 50 + ["end"]
    )


def test_a_single_rank_has_no_label(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "echo step 1; printf '10%%\\r100%%\\n'; printf end")
    assert run_agent(folder) == 0
    assert folder.log.read_text() == "step 1\n100%\nend"


def test_a_rank_has_no_terminal_even_if_its_agent_has_one(tmp_path: Path) -> None:
    """`srun --unbuffered` gives its tasks a pseudo terminal."""
    folder = program_folder(
        tmp_path, [sys.executable, "-c", "import sys; print(sys.stdout.isatty(), sys.stderr.isatty())"]
    )
    ours, theirs = pty.openpty()
    try:
        words = agent_words(folder)
        assert subprocess.run(words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs).returncode == 0
        assert os.read(ours, 1_000).split() == [b"False", b"False"]
    finally:
        os.close(ours)
        os.close(theirs)

"""An attempt of two agents, as srun starts them on two hosts: the last line of every rank is read before the end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from contract.folder.events import Points
from contract.folder.run_folder import RunFolder
from tests.testing.programs import agent_words, events_of, kinds_of, program_folder
from tests.testing.servers import wait_for

OUTPUT = {"kind": "output", "pattern": r"step (?P<step>\d+) loss (?P<loss>\S+)", "rank": "any"}
RESOURCES = {"kind": "slurm", "nodes": 2}
LAST_LINE = "if [ $RANK = 1 ]; then until [ -e go ]; do sleep 0.05; done; printf 'step 7 loss 0.25{end}'; fi"


def variables(rank: int) -> dict[str, str]:
    """Return what srun sets for a task of a job step with one task on each of two hosts."""
    found = {"SLURM_JOB_ID": "7", "SLURM_PROCID": str(rank), "SLURM_NODEID": str(rank), "SLURM_LOCALID": "0"}
    found |= {"SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "1(x2)", "SLURM_STEP_NODELIST": "host[0-1]"}
    return {**os.environ, **found, "SLURMD_NODENAME": f"host{rank}"}


@contextmanager
def agents(folder: RunFolder, *, through_pipes: bool) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Start both agents; their output goes to the log itself, or through pipes that somebody reads."""
    with ExitStack() as stack:
        log = stack.enter_context(folder.open_log_for_append())
        output = subprocess.PIPE if through_pipes else log
        words, started = agent_words(folder), list["subprocess.Popen[bytes]"]()
        for rank in range(2):
            child = subprocess.Popen(words, stdout=output, stderr=output, env=variables(rank), process_group=0)
            started.append(child)
            stack.callback(child.wait)
            stack.callback(child.kill)
        yield started


def losses(folder: RunFolder) -> dict[int, float | None]:
    return {event.step: event.values["loss"] for event in events_of(folder) if isinstance(event, Points)}


def let_rank_1_end(folder: RunFolder) -> None:
    """Let rank 1 write its last line after rank 0 has ended."""
    wait_for("the end of rank 0", (folder.path / "attempts" / "1.exit-0").exists)
    (folder.path / "go").touch()


def test_lines_that_a_rank_of_another_host_writes_last_are_read_before_the_end(tmp_path: Path) -> None:
    """Forces the order: rank 1 writes its line after rank 0 has ended."""
    folder = program_folder(tmp_path, LAST_LINE.format(end="\\n"), resources=RESOURCES, metrics=[OUTPUT])
    with agents(folder, through_pipes=False) as started:
        let_rank_1_end(folder)
        assert [child.wait(300) for child in started] == [0, 0], folder.log.read_text()
    assert losses(folder) == {7: 0.25}
    assert kinds_of(folder) == ["started", "points", "finished"]
    assert folder.log.read_text() == "step 7 loss 0.25\n", "the log has nothing but the program's lines"


def test_lines_that_srun_holds_back_are_read_before_the_end(tmp_path: Path) -> None:
    """Forces the fault: no line reaches the log before both agents have ended; the last one has no end."""
    folder = program_folder(tmp_path, LAST_LINE.format(end=""), resources=RESOURCES, metrics=[OUTPUT])
    with agents(folder, through_pipes=True) as started:
        let_rank_1_end(folder)
        assert [child.wait(300) for child in started] == [0, 0]
        shown = started[1].communicate()[0]
    assert (folder.log.read_bytes(), shown) == (b"", b"step 7 loss 0.25")
    assert losses(folder) == {7: 0.25}
    assert kinds_of(folder) == ["started", "points", "finished"]


SAVES = """
import os, signal, sys, time
def leave(*_):
    while os.environ["RANK"] == "0" and not os.path.exists("go"): time.sleep(0.01)
    open("left-" + os.environ["RANK"], "w").close()
    sys.exit(int(sys.argv[1]))
signal.signal(signal.SIGTERM, leave)
open("ready-" + os.environ["RANK"], "w").close()
while True: time.sleep(0.1)
"""


@pytest.mark.parametrize(("status", "kind"), [(0, "stopped"), (4, "paused")])
def test_a_rank_that_leaves_at_once_takes_no_time_from_a_rank_that_saves(
    tmp_path: Path, status: int, kind: str
) -> None:
    """Forces the order: SIGTERM comes to both ranks, rank 1 leaves at once, and rank 0 saves after that.

    srun ends all ranks when one agent leaves with any status but 0.
    """
    folder = ready_to_save(tmp_path, status)
    with agents(folder, through_pipes=False) as started:
        signal_both(folder, started)
        assert started[1].wait(300) == 0
        (folder.path / "go").touch()
        assert started[0].wait(300) == (4 if kind == "paused" else 143)
    assert (folder.path / "left-0").exists()
    assert kinds_of(folder)[-1] == kind


def test_an_attempt_whose_other_agent_was_killed_does_not_report_a_stop(tmp_path: Path) -> None:
    """Forces the fault: SIGKILL to the agent of rank 1; srun ends the other one with SIGTERM, and again later."""
    folder = ready_to_save(tmp_path, 0)
    (folder.path / "go").touch()
    with agents(folder, through_pipes=False) as started:
        await_both(folder)
        started[1].kill()
        started[0].terminate()
        wait_for("the end of rank 0", (folder.path / "attempts" / "1.exit-0").exists)
        while started[0].poll() is None:  # a second request ends the wait for rank 1
            started[0].send_signal(signal.SIGINT)
            time.sleep(0.05)
        assert started[0].returncode == 143
    assert kinds_of(folder) == ["started"], "the cluster reports the failure"


def ready_to_save(root: Path, status: int) -> RunFolder:
    return program_folder(root, [sys.executable, "-c", SAVES, str(status)], resources=RESOURCES)


def await_both(folder: RunFolder) -> None:
    wait_for("both ranks", lambda: all((folder.path / f"ready-{rank}").exists() for rank in range(2)))


def signal_both(folder: RunFolder, started: "list[subprocess.Popen[bytes]]") -> None:
    await_both(folder)
    for child in started:
        child.terminate()


@pytest.mark.ring("all")
def test_a_rank_that_fails_is_reported_without_a_wait_for_further_output(tmp_path: Path) -> None:
    command = "echo step 3 loss 0.5; if [ $RANK = 1 ]; then exit 7; fi"
    folder = program_folder(tmp_path, command, resources=RESOURCES, metrics=[OUTPUT])
    with agents(folder, through_pipes=False) as started:
        assert [child.wait(300) for child in started] == [1, 1]
    assert losses(folder) == {3: 0.5}
    assert kinds_of(folder)[-1] == "failed"

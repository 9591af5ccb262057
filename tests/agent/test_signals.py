"""Signals to an agent and its ranks: who gets which, what they lead to, and that no process stays."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from contract.folder.events import Paused, Stopped
from contract.folder.run_folder import RunFolder
from tests.testing.programs import agent, agent_words, events_of, kinds_of, program_folder, wait_for_line
from tests.testing.servers import wait_for

TWO = {"kind": "local", "ranks_per_node": 2}
PAUSES = """
import signal, sys, time
signal.signal(signal.SIGUSR2, lambda *_: sys.exit(4))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))
print("ready", flush=True)
time.sleep(600)
"""
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"


def processes_of(folder: RunFolder) -> list[psutil.Process]:
    """Return the living processes of an attempt's ranks."""
    found = []
    for process in psutil.process_iter():
        try:
            is_mine = process.environ().get("BIGBATCH_RUN_FOLDER") == os.path.realpath(folder.path)
            if is_mine and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize(("number", "name"), [(signal.SIGUSR2, "SIGUSR2"), (signal.SIGTERM, "SIGTERM")])
def test_a_program_that_handles_the_signal_pauses(tmp_path: Path, number: int, name: str) -> None:
    folder = program_folder(tmp_path, [sys.executable, "-c", PAUSES], resources=TWO)
    with agent(folder) as child:
        wait_for_line(folder, "ready", 2)
        child.send_signal(number)
        assert child.wait(300) == 4
    paused = events_of(folder)[-1]
    assert isinstance(paused, Paused)
    assert paused.signal == name


def test_a_program_without_a_handler_survives_the_warning(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "echo ready; until [ -e go ]; do sleep 0.05; done")
    with agent(folder) as child:
        wait_for_line(folder, "ready")
        for _ in range(3):
            child.send_signal(signal.SIGUSR2)
            time.sleep(0.1)  # three separate signals
        (folder.path / "go").touch()
        assert child.wait(300) == 0
    assert kinds_of(folder) == ["started", "finished"]


def test_the_warning_reaches_a_program_that_handles_it_only_later(tmp_path: Path) -> None:
    """Forces the race: the warning comes while the program imports its libraries."""
    wait = "import os, time\nprint('up', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.05)\n"
    folder = program_folder(tmp_path, [sys.executable, "-c", wait + PAUSES])
    with agent(folder) as child:
        wait_for_line(folder, "up")
        child.send_signal(signal.SIGUSR2)
        (folder.path / "go").touch()
        assert child.wait(300) == 4


def test_sigterm_ends_a_program_without_a_handler_and_is_no_failure(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "echo ready; sleep 600; true", resources=TWO)
    with agent(folder) as child:
        wait_for_line(folder, "ready", 2)
        child.terminate()
        assert child.wait(300) == 143
    (_, stopped) = events_of(folder)
    assert isinstance(stopped, Stopped), "the cluster knows why, or calls it a failure"
    assert stopped.signal == "SIGTERM"
    assert folder.read_rank_failures(1) == []
    assert processes_of(folder) == []


# `go` comes when the shell has ended: a program that is killed with the shell never sees it
SAVES = """
import os, signal, sys, time
def save(*_):
    open(os.environ["BIGBATCH_RUN_FOLDER"] + "/attempts/1.paused", "w").write('{"step": 87}')
    open("asked", "w").close()
    while not os.path.exists("go"): time.sleep(0.01)
    open("saved", "w").close()
    sys.exit(4)
signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("ready", flush=True)
while True: time.sleep(0.1)
"""


@pytest.mark.parametrize(
    "line",
    [
        *("python {file} | tee x", "python {file}; echo", "( python {file}; true )", "./wrap.sh"),
        *("timeout 600 python {file} | tee x", "set -m; python {file} | tee x", "setsid --wait python {file} | tee x"),
    ],
)
def test_a_program_behind_a_shell_has_the_time_to_save(tmp_path: Path, line: str) -> None:
    """Forces the fault: the shell ends at the signal, and the program saves after the end of the shell."""
    folder = saving(tmp_path, line)
    with agent(folder) as child:
        wait_for_line(folder, "ready")
        mine = [one for one in processes_of(folder) if one.ppid() == child.pid]
        (shell,) = [one for one in mine if one.pid == os.getpgid(one.pid)]
        child.terminate()
        wait_for("the end of the shell", lambda: shell.pid not in [one.pid for one in processes_of(folder)])
        wait_for("the program's handler", (folder.path / "asked").exists)
        (folder.path / "go").touch()
        assert child.wait(300) == 4
    assert (folder.path / "saved").exists()
    paused = events_of(folder)[-1]
    assert isinstance(paused, Paused)
    assert paused.saved_step == 87


def test_a_program_that_is_killed_before_it_saved_has_no_saved_step(tmp_path: Path) -> None:
    """Forces the fault: the program does not end its saving."""
    folder = saving(tmp_path, "./wrap.sh")
    with agent(folder) as child:
        wait_for_line(folder, "ready")
        child.terminate()
        wait_for("the program's handler", (folder.path / "asked").exists)
        while child.poll() is None:  # two signals at once could arrive as one
            child.send_signal(signal.SIGINT)
            time.sleep(0.05)
        assert child.returncode == 143
    assert kinds_of(folder) == ["started", "stopped"]
    assert not (folder.path / "saved").exists()


def saving(root: Path, line: str) -> RunFolder:
    """Return the folder of a program behind a shell that saves its state when it is asked to end."""
    file = root / "saves.py"
    file.write_text(SAVES)
    folder = program_folder(root, line.format(file=file))
    wrap = folder.path / "wrap.sh"
    wrap.write_text(f"#!/bin/sh\npython {file}\necho ended\n")
    wrap.chmod(0o755)
    return folder


def test_a_program_that_ends_well_after_sigterm_has_not_finished(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, [sys.executable, "-c", PAUSES.replace("exit(4)", "exit(0)")])
    with agent(folder) as child:
        wait_for_line(folder, "ready")
        child.terminate()
        assert child.wait(300) == 143
    assert kinds_of(folder) == ["started", "stopped"]


def test_a_signal_that_reaches_the_rank_before_its_agent_is_a_request_too(tmp_path: Path) -> None:
    """Forces the race: Slurm signals each process of a step, and a rank may be the first of them."""
    folder = program_folder(tmp_path, "echo ready; exec sleep 600")
    with agent(folder) as child:
        wait_for_line(folder, "ready")
        (rank,) = (process for process in processes_of(folder) if "sleep" in process.cmdline())
        rank.send_signal(signal.SIGTERM)
        wait_for("the agent to see the end", lambda: not psutil.pid_exists(rank.pid))
        child.send_signal(signal.SIGTERM)
        assert child.wait(300) == 128 + signal.SIGTERM
    assert isinstance(events_of(folder)[-1], Stopped)


@pytest.mark.ring("all")
def test_a_second_sigterm_kills_a_program_that_ignores_the_first(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, [sys.executable, "-c", DEAF])
    with agent(folder) as child:
        wait_for_line(folder, "ready")
        child.terminate()
        time.sleep(5.5)  # a repetition within five seconds is one request
        began = time.monotonic()
        child.terminate()
        assert child.wait(300) == 143
        assert time.monotonic() - began < 20, "well before the deadline of the first request"
    assert processes_of(folder) == []


def test_what_a_rank_leaves_behind_is_killed(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "setsid sleep 600 & (sleep 600 &) ; nohup sleep 600 & echo done")
    with agent(folder) as child:
        assert child.wait(300) == 0
    assert processes_of(folder) == []


def test_no_process_outlives_a_killed_agent(tmp_path: Path) -> None:
    folder = program_folder(
        tmp_path, "setsid sleep 600 & (sleep 600; true) & echo ready; sleep 600; true", resources=TWO
    )
    with agent(folder) as child:
        wait_for_line(folder, "ready", 2)
        assert processes_of(folder)
        os.killpg(child.pid, signal.SIGKILL)
        wait_for("the end of all processes", lambda: not processes_of(folder))


PARENT = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"


def test_no_rank_outlives_a_killed_launcher(tmp_path: Path) -> None:
    """Forces the fault: an agent on Slurm is killed, torchrun dies with it, and Slurm does not find its workers."""
    folder = program_folder(tmp_path, "echo ready; exec sleep 600", launcher="torchrun")
    words = [sys.executable, "-c", PARENT, *agent_words(folder), "--worker"]
    variables = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "BIGBATCH_RUN_FOLDER": str(folder.path)}
    with folder.open_log_for_append() as log:
        launcher = subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, **variables})
    try:
        wait_for_line(folder, "ready")
        launcher.kill()
        wait_for("the end of all processes", lambda: not processes_of(folder))
    finally:
        launcher.kill()
        launcher.wait()
        for process in processes_of(folder):
            process.kill()


@pytest.mark.ring("all")
def test_the_ranks_leave_when_a_later_attempt_begins(tmp_path: Path) -> None:
    """Forces the fault: the cluster lost track of the job, and the scheduler began another attempt."""
    folder = program_folder(tmp_path, "echo ready; sleep 600; true")
    with agent(folder) as child:
        wait_for_line(folder, "ready")
        assert folder.claim(2, "the next job") == "the next job"
        assert child.wait(300) == 3
    assert processes_of(folder) == []
    assert kinds_of(folder) == ["started"]

"""The output of the ranks of one machine: each line has its rank, and none is lost."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing import connection, get_context
from pathlib import Path

import pytest

from trainers.ranks.launch.labelled_output import MOST, LabelledOutput, RankOutput

PATIENCE_S = 60
CONTEXT = get_context("forkserver")


def speak(output: RankOutput, rank: int) -> None:
    output.redirect()
    print(f"rank {rank} begins", flush=True)
    os.write(2, b"an err")  # a line in two parts
    os.write(2, b"or\n\n")
    subprocess.run(["echo", "from a child"], check=True)
    os.write(1, b"x" * 3 * MOST + b"\nthe last line has no end")
    os.kill(os.getpid(), 9)  # as a crash: nothing is flushed


def leave_a_child(output: RankOutput, _: int) -> None:
    output.redirect()
    print("before", flush=True)
    # holds the pipe until its reader has closed it, two minutes at most
    holds = "import select; pipe = select.poll(); pipe.register(1, 0); pipe.poll(120_000)"
    subprocess.Popen([sys.executable, "-c", holds], start_new_session=True)


def leave_a_child_that_writes(output: RankOutput, _: int) -> None:
    output.redirect()
    subprocess.Popen(["yes"], start_new_session=True)


def run_ranks(
    target: Callable[[RankOutput, int], None], world: int, capfd: pytest.CaptureFixture[str]
) -> tuple[str, str]:
    output = LabelledOutput(world, CONTEXT)
    ranks = [CONTEXT.Process(target=target, args=(output.ranks[rank], rank)) for rank in range(world)]
    for rank in ranks:
        rank.start()
    output.start()
    for rank in ranks:
        rank.join(PATIENCE_S)
    output.end()
    found = capfd.readouterr()
    return found.out, found.err


def test_each_line_has_its_rank_as_wide_as_the_largest(capfd: pytest.CaptureFixture[str]) -> None:
    out, err = run_ranks(speak, 11, capfd)
    for rank in range(11):
        label = f"{rank:>2}: "
        mine = [line.removeprefix(label) for line in out.splitlines() if line.startswith(label)]
        assert (mine[:2], mine[-1]) == ([f"rank {rank} begins", "from a child"], "the last line has no end")
        assert "".join(mine[2:-1]) == "x" * 3 * MOST, "a long line may come in parts"
        assert [line for line in err.splitlines() if line.startswith(label)] == [f"{label}an error", label]
    assert all(line[:4].strip(": ").isdigit() for line in out.splitlines())


def test_a_process_that_a_rank_leaves_behind_holds_nothing_up(capfd: pytest.CaptureFixture[str]) -> None:
    """Forces the fault: a child of the rank keeps the pipe open."""
    began = time.monotonic()
    assert run_ranks(leave_a_child, 1, capfd) == ("0: before\n", "")
    assert time.monotonic() - began < PATIENCE_S


@pytest.mark.ring("all")
def test_a_process_that_goes_on_writing_does_not_hold_the_end_up(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: a child of the rank writes without a pause, and is never slower than the reader."""
    wait = connection.wait
    monkeypatch.setattr(connection, "wait", lambda ends, timeout: wait(ends, timeout or PATIENCE_S))
    began = time.monotonic()
    out, _ = run_ranks(leave_a_child_that_writes, 1, capfd)
    assert set(out.splitlines()) <= {"0: y"}
    assert time.monotonic() - began < PATIENCE_S


PARENT = """
from multiprocessing import get_context

from tests.trainers.ranks.test_labelled_output import write_much
from trainers.ranks.launch.labelled_output import LabelledOutput

if __name__ == "__main__":
    context = get_context("forkserver")
    output = LabelledOutput(1, context)
    rank = context.Process(target=write_much, args=(output.ranks[0],))
    rank.start()
    output.start()
    rank.join(60)
    output.end()
    raise SystemExit(rank.exitcode)
"""


def test_a_full_disk_does_not_stop_the_ranks(tmp_path: Path) -> None:
    """Forces the fault: the output of the parent process is /dev/full, to which nothing can be written."""
    script, house = tmp_path / "parent.py", str(Path(__file__).parents[3])
    script.write_text(PARENT)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, str(script)],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=2 * PATIENCE_S,
            env={**os.environ, "PYTHONPATH": house},
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")


def write_much(output: RankOutput) -> None:
    output.redirect()
    for _ in range(1000):
        os.write(1, b"a line of many\n" * 100)
    os._exit(0)

"""`bigbatch.should_pause`: every rank pauses after the same call, whichever rank received the signal."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.testing.scripts import environment_of, make_run_folder, run_script, start_script

# two ranks in lockstep, as with a collective in each step: no rank begins a step before both have ended the last one
RANK = """
import os, sys, time
import bigbatch
rank, world, folder = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), sys.argv[1] if len(sys.argv) > 1 else "."
def meet(step):
    open(f"met-{step}-{rank}", "w").close()
    while not all(os.path.exists(f"met-{step}-{other}") for other in range(world)):
        time.sleep(0.0005)
for step in range(1, 100_000):
    meet(step)
    bigbatch.log(step=step, loss=1.0)
    if bigbatch.should_pause(step):
        print(step, flush=True)
        bigbatch.finish()
        sys.exit(4)
    if step == 5:
        print("begun", flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run_folder(tmp_path / "run")


def start_ranks(folder: Path, world: int) -> list[subprocess.Popen[str]]:
    ranks = [start_script(RANK, environment_of(folder, rank=rank, world=world), cwd=folder) for rank in range(world)]
    for process in ranks:
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
    return ranks


def ends(ranks: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    found = []
    for process in ranks:
        assert process.stdout
        output = process.stdout.read()
        process.communicate()
        found.append((process.returncode, output))
    return found


@pytest.mark.parametrize("number", [signal.SIGUSR2, signal.SIGTERM])
def test_one_rank_pauses_after_the_step_in_which_the_signal_came(folder: Path, number: signal.Signals) -> None:
    (process,) = start_ranks(folder, 1)
    process.send_signal(number)
    ((status, output),) = ends([process])
    assert status == 4
    noted = json.loads((folder / "attempts" / "1.paused").read_text())
    assert noted == {"step": int(output), "signal": number.name}


@pytest.mark.ring("all")
@pytest.mark.parametrize("which", [[0], [1], [0, 1]])
def test_all_ranks_pause_after_the_same_step(folder: Path, which: list[int]) -> None:
    """Forces the fault: the signal reaches some ranks only."""
    ranks = start_ranks(folder, 2)
    for rank in which:
        ranks[rank].send_signal(signal.SIGUSR2)
    (first, second) = ends(ranks)
    assert first == second
    assert first[0] == 4
    assert json.loads((folder / "attempts" / "1.paused").read_text())["step"] == int(first[1])


TORCH = """
import os, signal, sys
import torch, torch.distributed as dist
import bigbatch
dist.init_process_group("gloo", init_method="file://" + os.path.abspath("rendezvous"), rank=int(os.environ["RANK"]),
                        world_size=int(os.environ["WORLD_SIZE"]))
value = torch.ones(1)
for step in range(1, 1_000_000):
    dist.all_reduce(value)
    if step == 20 and os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGTERM)
    if bigbatch.should_pause():
        print(step, flush=True)
        dist.barrier()
        os._exit(4)
"""


@pytest.mark.ring("all")
def test_ranks_of_torch_agree_by_its_store(folder: Path) -> None:
    words = [sys.executable, "-c", TORCH]
    ranks = [
        subprocess.Popen(
            words, env=environment_of(folder, rank=rank, world=2), cwd=folder, text=True, stdout=subprocess.PIPE
        )
        for rank in range(2)
    ]
    (first, second) = ends(ranks)
    assert first == second
    assert first[0] == 4
    assert not (folder / "attempts" / "1.pause").exists()


def test_the_programs_own_handler_is_called_as_well(folder: Path) -> None:
    code = """
import os, signal
import bigbatch
signal.signal(signal.SIGTERM, lambda *_: print("own handler"))
print(bigbatch.should_pause())
os.kill(os.getpid(), signal.SIGTERM)
print(bigbatch.should_pause())
"""
    assert run_script(code, environment_of(folder))[0] == "False\nown handler\nTrue\n"


@pytest.mark.ring("all")
def test_a_second_term_ends_a_process_that_does_not_pause(folder: Path) -> None:
    code = """
import bigbatch, time
bigbatch.should_pause()
print("begun", flush=True)
while True:
    time.sleep(0.01)
"""
    process = start_script(code, environment_of(folder))
    assert process.stdout
    assert process.stdout.readline() == "begun\n"
    until = time.monotonic() + 120
    while process.poll() is None:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert time.monotonic() < until
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM


def test_a_thread_may_ask_and_gets_an_answer(folder: Path) -> None:
    code = """
import threading
import bigbatch
answers = []
thread = threading.Thread(target=lambda: answers.append(bigbatch.should_pause()))
thread.start()
thread.join()
print(answers)
"""
    output, errors = run_script(code, environment_of(folder))
    assert output == "[False]\n"
    assert "first called in a thread" in errors


def test_an_unreachable_folder_pauses_nothing_and_raises_nothing(tmp_path: Path) -> None:
    code = "import bigbatch; print([bigbatch.should_pause() for _ in range(5)])"
    for rank in (0, 1):
        output, _ = run_script(code, environment_of(tmp_path / "absent", rank=rank, world=2))
        assert output == f"{[False] * 5}\n"

"""Log analysis: any log is analyzed in time proportional to its size, and every pattern finds its line."""

import time
import tracemalloc

import pytest

from contract.diagnosis.log_patterns import EVIDENCE_CHARS, LOG_CHARS, find_failure_line, find_last_output
from contract.lifecycle.failure import FailureKind

pytestmark = pytest.mark.ring("quick")

SIZE = 250_000
LIMIT_S = 1.0  # of processor time; the slowest log takes a tenth of it
# beginnings that a pattern may extend, and that it then must give up
HOSTILE = [
    "execve(): ",
    "1: slurmstepd-a",
    "slurmstepd-" + "a" * 100,
    "slurmstepd-a: execve(): No such ",
    "line 1: ",
    "line 1: x: ",
    "line 1",
    "srun: ",
    "srun: error: ",
    "srun: error: h: task 1",
    "srun: error: h: tasks 0-1,",
    "srun: error: h: tasks 0-99999999999: Killed ",
    "srun: error: h: tasks 0-999999: Killed\n",
    "Node failure on ",
    "Node failure on a\n",
    "oom-kil",
    "MemoryErro",
    "can't allocate memor",
    ": No module named ",
    ": command not found",
    "cannot open shared object fil",
    "Error",
    "Error: ",
    "a.",
    "a.Error",
    "a.aError:",
    "1: ",
    " 1: ",
    " ",
    "[rank1]: ",
    "[rank1]",
    "[default1]:",
    "[rank1]: RuntimeError: Connection closed by peer\n",
    "9",
    "a",
    "\n",
    "x\n",
    "1: x\n",
    "\r",
    "_step_signal: Terminating",
    "srun: x_step_signal: Terminatin",
    "x: MemoryError\n",
    "1: ValueError: \n",
]


@pytest.mark.parametrize("missed", [None, 7])
@pytest.mark.parametrize("unit", HOSTILE, ids=repr)
def test_a_hostile_log_is_analyzed_in_less_than_a_second(unit: str, missed: int | None) -> None:
    """Forces the fault: a log of one repeated text, on which a pattern with two ways to match takes minutes."""
    log = (unit * (SIZE // len(unit) + 1))[:SIZE] + "!"
    began = time.process_time()
    find_failure_line(log, missed=missed, echoes={3})
    assert time.process_time() - began < LIMIT_S


def test_a_list_of_more_tasks_than_any_job_has_takes_no_memory() -> None:
    tracemalloc.start()
    line = find_failure_line("srun: error: h: tasks 3-99999999999: Killed\n")
    wide = find_failure_line("srun: error: h: tasks 3-999999: Killed\n", missed=500_000)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert line is not None
    assert (line.kind, line.rank, line.host) == (FailureKind.SIGNAL, None, "h")
    assert wide is not None
    assert wide.rank == 500_000
    assert peak_bytes < 1_000_000


def test_a_number_that_is_no_rank_is_no_label() -> None:
    line = find_failure_line("9" * 5000 + ": MemoryError\n")
    assert line is not None
    assert (line.kind, line.rank) == (FailureKind.OUT_OF_MEMORY, None)


@pytest.mark.parametrize(
    ("text", "kind", "rank", "host"),
    [
        ("srun: error: n1: tasks 2-3,5: Out Of Memory", FailureKind.OUT_OF_MEMORY, 2, "n1"),
        ("3: slurmstepd: error: Detected 1 oom_kill event", FailureKind.OUT_OF_MEMORY, 3, None),
        ("1: can't allocate memory: you tried to", FailureKind.OUT_OF_MEMORY, 1, None),
        ("srun: error: Node failure on n-2.x", FailureKind.NODE_FAILURE, None, "n-2.x"),
        ("slurmstepd: error: *** STEP 1.0 CANCELLED DUE TO TIME LIMIT ***", FailureKind.TIME_LIMIT, None, None),
        ("1: slurmstepd-h: error: execve(): /a: No such file", FailureKind.WRONG_ENVIRONMENT, 1, "h"),
        ("slurmstepd: error: execve(): execve(): /a: Permission denied", FailureKind.WRONG_ENVIRONMENT, None, None),
        ("0: bash: pyton: command not found", FailureKind.WRONG_ENVIRONMENT, 0, None),
        ("0: /usr/bin/python: No module named trainers", FailureKind.WRONG_ENVIRONMENT, 0, None),
        ("2: ModuleNotFoundError: No module named 'x'", FailureKind.WRONG_ENVIRONMENT, 2, None),
        ("2: python: libc.so: cannot open shared object file", FailureKind.WRONG_ENVIRONMENT, 2, None),
        ("/var/spool/script: line 7: /a/b: No such file or directory", FailureKind.WRONG_ENVIRONMENT, None, None),
        ("a line 7 of line 8: /a: No such file or directory", FailureKind.WRONG_ENVIRONMENT, None, None),
        ("srun: error: n1: task 4: Segmentation fault", FailureKind.SIGNAL, 4, "n1"),
        ("1: torch.cuda.SomeError: no", FailureKind.PYTHON_ERROR, 1, None),
        ("1: KeyError", FailureKind.PYTHON_ERROR, 1, None),
        ("[rank3]: KeyError: 'lr'", FailureKind.PYTHON_ERROR, 3, None),
        ("[default0]:[rank3]: KeyError: 'lr'", FailureKind.PYTHON_ERROR, 3, None),
        ("1: [rank3]: ImportError: no lr", FailureKind.WRONG_ENVIRONMENT, 1, None),
        ("srun: error: n1: task 0: Exited with exit code 4", FailureKind.UNKNOWN, 0, "n1"),
    ],
)
@pytest.mark.parametrize("around", ["", "x" * 300_000])
def test_every_pattern_finds_its_line(
    text: str, kind: FailureKind, rank: int | None, host: str | None, around: str
) -> None:
    line = find_failure_line(f"{around}\nepoch 1\n{text}\n\n")
    assert line is not None
    assert (line.kind, line.rank, line.host, line.line) == (kind, rank, host, text)


LOST = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:2949"
CHILD = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
COMMAND = "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1."


@pytest.mark.parametrize("consequence", [f"[rank0]: {LOST}", f"0: [rank0]: {LOST}", CHILD, f"0: {CHILD}", COMMAND])
def test_a_cause_counts_before_a_consequence_that_precedes_it(consequence: str) -> None:
    line = find_failure_line(f"{consequence}\n[rank1]: ValueError: first\n[rank2]: ValueError: second\n")
    assert line is not None
    assert (line.rank, line.text) == (1, "ValueError: first")
    alone = find_failure_line(f"{consequence}\nsrun: error: n1: task 0: Exited with exit code 1\n")
    assert alone is not None
    assert alone.line == consequence.strip(), "without a cause it is the evidence"


def test_a_label_may_be_aligned_to_the_right() -> None:
    line = find_failure_line("10: step 1\n 3: KeyError: 'lr'\n")
    assert line is not None
    assert (line.rank, line.text) == (3, "KeyError: 'lr'")
    assert find_last_output("10: step 1\n 3: no lr\n[rank3]: at all\n", 3) == "no lr\nat all"


def test_the_end_of_a_long_line_is_read() -> None:
    """Forces a progress bar that prints no line break, followed by the error."""
    line = find_failure_line("\r 50 %|#####     |" * 10_000 + " CUDA failed: OOM Killed")
    assert line is not None
    assert line.kind is FailureKind.OUT_OF_MEMORY


def test_a_log_is_read_from_its_end() -> None:
    assert find_failure_line("KeyError: 1\n" + "x\n" * (LOG_CHARS // 2)) is None


def test_control_characters_of_a_line_are_replaced() -> None:
    line = find_failure_line("KeyError: \x1b[31mred\x00\n")
    assert line is not None
    assert line.line == "KeyError: \ufffd[31mred\ufffd"


@pytest.mark.parametrize(
    ("log", "rank", "output"),
    [
        (
            "usage: train.py\ntrain.py: error: no lr\nbigbatch: rank 0 left\n",
            0,
            "usage: train.py\ntrain.py: error: no lr",
        ),
        ("0: fine\n1: no disk\n0: \nsrun: error: n1: task 1: Exited with exit code 2\n", 1, "no disk"),
        ("0: a\n1: b\n", None, "a\nb"),
        ("\n".join(map(str, range(9))), 0, "4\n5\n6\n7\n8"),
        ("\x1b[2J" + "x" * 2_000, 0, "\ufffd[2J" + "x" * (EVIDENCE_CHARS - 4)),
        ("", 0, ""),
    ],
)
def test_the_last_output_is_that_of_the_rank(log: str, rank: int | None, output: str) -> None:
    assert find_last_output(log, rank) == output

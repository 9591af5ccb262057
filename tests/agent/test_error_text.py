"""The error that ended a program, as torch, torchrun, accelerate, mp.spawn and Python write it."""

import textwrap
import time

import pytest

from agent.program import error_text
from agent.program.error_text import AFTERMATH, FoundError, find_error
from contract.diagnosis import consequences

pytestmark = pytest.mark.ring("quick")

PACKAGES = "/venv/lib/python3.11/site-packages"
LOST = (
    "RuntimeError: [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer "
    "[127.0.0.1]:2949. This is typically caused by a remote worker crashing."
)
NCCL = (
    "torch.distributed.DistBackendError: NCCL error in: /torch/NCCLUtils.cpp:77, remote process exited or there was a "
    "network error, NCCL version 2.27.3\nncclRemoteError: A call failed possibly due to a network error.\nLast error:\n"
    "NET/Socket : peer 10.0.0.2 closed"
)


def raised(error: str, prefix: str = "", *, files: tuple[str, ...] = ("/mine/train.py",)) -> str:
    frames = [line for file in files for line in (f'  File "{file}", line 7, in step', "    act()")]
    lines = ["Traceback (most recent call last):", *frames, *error.split("\n")]
    return "".join(f"{prefix}{line}\n" for line in lines)


def lost(prefix: str = "", error: str = LOST) -> str:
    return raised(error, prefix, files=("/mine/train.py", f"{PACKAGES}/torch/distributed/distributed_c10d.py"))


def torchrun(rank: int, status: int, script: str = "train.py") -> str:
    """Return the end of what torchrun 2.9 writes to its errors."""
    trace = raised(
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        files=("/venv/bin/torchrun", f"{PACKAGES}/torch/distributed/launcher/api.py"),
    )
    return trace + textwrap.dedent(f"""\
        ============================================================
        {script} FAILED
        ------------------------------------------------------------
        Failures:
        [1]:
          time      : 2026-11-29_22:27:03
          host      : localhost
          rank      : {1 - rank} (local_rank: {1 - rank})
          exitcode  : -15 (pid: 5487)  (SIGTERM)
          error_file: <N/A>
          traceback : Signal 15 (SIGTERM) received by PID 5487
        ------------------------------------------------------------
        Root Cause (first observed failure):
        [0]:
          time      : 2026-11-29_22:27:03
          host      : localhost
          rank      : {rank} (local_rank: {rank})
          exitcode  : {status} (pid: 5488)
          error_file: <N/A>
          traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
        ============================================================
        """)


def found(*streams: str) -> FoundError:
    error = find_error(streams)
    assert error is not None
    return error


@pytest.mark.parametrize("prefix", ["", "[rank1]: ", "1: [rank1]: ", "[default1]:[rank1]: ", "[1,1]<stderr>:", " 1: "])
def test_an_error_is_found_without_the_prefixes_of_its_lines(prefix: str) -> None:
    error = found(f"step 1\n{raised('ValueError: lr is negative', prefix)}")
    assert error[:2] == ("ValueError: lr is negative", "python_error")
    assert error.trace == raised("ValueError: lr is negative")
    assert not error.is_consequence


@pytest.mark.parametrize("order", [1, -1])
def test_a_cause_counts_before_lost_connections_whichever_comes_first(order: int) -> None:
    both = [lost("[rank1]: "), raised("ValueError: no", "[rank0]: ")][::order]
    assert found("".join(both)).text == "its rank 0: ValueError: no"


def test_of_several_causes_the_first_in_time_counts() -> None:
    parts = [raised(f"ValueError: {rank}", f"[rank{rank}]: ") for rank in (2, 0, 1)]
    assert found("".join(parts)).text == "its rank 2: ValueError: 2"


@pytest.mark.parametrize("error", [LOST, NCCL], ids=["gloo", "NCCL"])
def test_a_rank_that_only_lost_its_connection_has_a_consequence(error: str) -> None:
    assert found(lost("[rank0]: ", error)).is_consequence
    assert found(lost("", error)).is_consequence


def test_a_lost_connection_counts_whatever_error_the_program_handled_before() -> None:
    assert found(raised("KeyError: 'handled'") + lost("[rank0]: ")).is_consequence


def test_a_connection_of_the_users_own_is_a_cause() -> None:
    error = "ConnectionResetError: [Errno 104] Connection reset by peer"
    files = (f"{PACKAGES}/requests/sessions.py", "/usr/lib/python3.11/socket.py")
    assert not found(raised(error, "[rank0]: ", files=files)).is_consequence
    workers = (f"{PACKAGES}/torch/utils/data/dataloader.py", "/usr/lib/python3.11/multiprocessing/connection.py")
    assert not found(raised(error, "[rank0]: ", files=workers)).is_consequence


def test_a_rank_of_the_programs_own_torchrun_is_named() -> None:
    text = raised("ValueError: no", "[rank1]: ") + lost("[rank0]: ") + torchrun(1, 1)
    assert found(text).text == "rank 1 of torchrun: ValueError: no"


def test_an_error_before_the_ranks_met_is_named_below_torchrun() -> None:
    error = found(raised("ModuleNotFoundError: No module named 'mine'") + torchrun(1, 1))
    assert error[:2] == ("ModuleNotFoundError: No module named 'mine'", "wrong_environment")


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [(-9, "killed by SIGKILL", "signal"), (-11, "killed by SIGSEGV", "signal"), (3, "left with status 3", "unknown")],
)
def test_a_rank_that_printed_no_error_is_named_by_torchruns_table(status: int, text: str, kind: str) -> None:
    assert found(lost("[rank0]: ") + torchrun(1, status))[:2] == (f"rank 1 of torchrun: {text}", kind)


def test_the_table_is_read_where_its_lines_have_a_label() -> None:
    text = "".join(f"0: {line}\n" for line in torchrun(1, -9).splitlines())
    assert found(text).text == "rank 1 of torchrun: killed by SIGKILL"


def test_the_cause_is_named_where_accelerate_says_that_another_rank_failed_first() -> None:
    launch = raised(
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        files=("/venv/bin/accelerate", f"{PACKAGES}/accelerate/commands/launch.py"),
    )
    text = lost("[rank1]: ") + raised("ValueError: no", "[rank0]: ") + launch + torchrun(1, 1)
    assert found(text).text == "rank 0 of torchrun: ValueError: no"


def test_the_error_of_a_single_process_below_accelerate_is_named() -> None:
    error = "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1."
    launch = raised(error, files=("/venv/bin/accelerate", f"{PACKAGES}/accelerate/commands/launch.py"))
    assert found(raised("KeyError: 'lr'") + launch).text == "KeyError: 'lr'"
    assert found(launch).text == error


def test_the_error_of_a_spawned_process_is_named() -> None:
    text = (
        raised("torch.multiprocessing.spawn.ProcessRaisedException: ")
        + "\n-- Process 1 terminated with the following error:\n"
        + raised("ValueError: lr is negative", files=(f"{PACKAGES}/torch/multiprocessing/spawn.py", "/mine/a.py"))
    )
    error = found(text)
    assert error.text == "process 1: ValueError: lr is negative"
    assert error.trace.count("Traceback") == 2


def test_the_last_of_chained_errors_counts() -> None:
    link = "\nDuring handling of the above exception, another exception occurred:\n\n"
    error = found(raised("KeyError: 'lr'") + link + raised("ValueError: no lr"))
    assert error.text == "ValueError: no lr"
    assert "KeyError" in error.trace


def test_the_error_of_a_worker_of_a_data_loader_is_named() -> None:
    caught = raised("ValueError: Caught ValueError in DataLoader worker process 0.", "[rank0]: ")
    original = raised("ValueError: a bad sample", "[rank0]: ").replace("Traceback", "Original Traceback")
    assert found(caught + original).text == "ValueError: a bad sample"


@pytest.mark.parametrize(
    "words",
    [
        "Exception ignored in: <function Pool.__del__ at 0x7f>",
        "Exception in thread Thread-1 (watch):",
        "--- Logging error ---",
        "Task exception was never retrieved\nfuture: <Task finished>",
    ],
)
def test_an_error_that_did_not_end_the_program_does_not_count(words: str) -> None:
    aside = f"{words}\n{raised('OSError: aside')}"
    assert find_error([aside]) is None
    assert found(f"{raised('ValueError: no')}{aside}").text == "ValueError: no"


def test_an_error_that_the_program_handled_long_before_its_end_does_not_count() -> None:
    assert find_error([raised("KeyError: 'lr'") + "a step\n" * (AFTERMATH + 1)]) is None
    assert found(raised("KeyError: 'lr'") + "a step\n" * 9).text == "KeyError: 'lr'"
    assert found(raised("KeyError: 'lr'", "[rank0]: ") + "a step\n" * 900).text == "KeyError: 'lr'"


def test_an_error_in_the_output_counts_if_the_errors_name_none() -> None:
    assert found("a warning\n", raised("KeyError: 'lr'")).text == "KeyError: 'lr'"
    assert found(lost("[rank0]: "), raised("KeyError: 'lr'")).text == "KeyError: 'lr'"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("MemoryError", "out_of_memory"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "out_of_memory"),
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate memory",
            "out_of_memory",
        ),
        ("ImportError: libcudart.so.12: cannot open shared object file", "wrong_environment"),
        ("RuntimeError: DataLoader worker (pid 5) is killed by signal: Killed. ", "signal"),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGKILL", "signal"),
        ("subprocess.TimeoutExpired: Command 'x' timed out after 5 seconds", "python_error"),
        ("RuntimeError: Error(s) in loading state_dict:\n\tMissing key(s)", "python_error"),
        ("AssertionError", "python_error"),
    ],
)
def test_the_kind_of_an_error_is_known(error: str, kind: str) -> None:
    assert found(raised(error)).kind == kind


def test_a_collective_that_waited_in_vain_is_known_and_counts_after_a_cause() -> None:
    waited = lost(
        "[rank0]: ", "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 30000ms for recv"
    )
    assert found(waited)[1:] == ("collective_timeout", found(waited).trace, False, True)
    assert found(waited + raised("ValueError: no", "[rank1]: ")).kind == "python_error"


def test_an_error_of_syntax_and_an_error_that_rich_frames_are_found() -> None:
    assert found('  File "/mine/a.py", line 3\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n').text.startswith(
        "Syn"
    )
    box = "╭──── Traceback (most recent call last) ────╮\n│ /mine/a.py:3 in main │\n╰──────╯\nValueError: no\n"
    assert found(box).text == "ValueError: no"


@pytest.mark.parametrize(
    "text", ["", "step 1\n", "usage: train.py\ntrain.py: error: no lr\n", "Traceback (most recent call"]
)
def test_output_without_an_error_has_none(text: str) -> None:
    assert find_error([text]) is None


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "Traceback (most recent call last):\n",
            "[rank1]: ",
            "1: ",
            "a.",
            "A",
            '  File "a", line 1\n',
            "E: x\n",
            "\r",
            " ",
        ),
        *(
            "Traceback (most recent call last):\nE: x\n",
            "Root Cause (first observed failure):\n",
            "terminate called after ",
        ),
    ],
    ids=repr,
)
def test_hostile_output_is_searched_in_less_than_a_second(unit: str) -> None:
    """Forces the fault: a tail of one repeated text, on which a search that looks twice takes minutes."""
    text = "Traceback (most recent call last):\n" + (unit * (250_000 // len(unit)))
    began = time.process_time()
    find_error([text])
    assert time.process_time() - began < 1.0


def test_the_agent_and_the_service_know_the_same_consequences() -> None:
    assert error_text.ECHO_TEXTS == consequences.ECHO_TEXTS

"""The store of a program's ranks on one host listens on the loopback address alone, whoever serves it."""

import gc
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bigbatch.injected.loopback_store import keep_on_loopback
from scheduler.submit.tools import agent_folder, install_tools
from tests.testing.program_ranks import run_ranks
from tests.testing.programs import program_folder

LISTENING = """
import os, psutil, torch.distributed as dist

def listening(process):
    return {it.laddr.ip for it in process.net_connections("tcp") if it.status == psutil.CONN_LISTEN}

"""
ALONE = """
store = dist.TCPStore(os.environ["HOST"], 0, 1, True, wait_for_workers=False)
peer = dist.TCPStore(os.environ["HOST"], store.port, 1, False, wait_for_workers=False)
peer.set("key", "value")
assert isinstance(store, dist.TCPStore) and store.get("key") == b"value"
for _ in range(2):  # a program may leave its group and join it again, at the same port
    dist.init_process_group("gloo")
    print(sorted(listening(psutil.Process())))
    dist.destroy_process_group()
"""
TWO = """
def is_of_this_run(process):
    try:
        return "BIGBATCH_RUN_FOLDER" in process.environ()
    except psutil.Error:  # the first process of a container
        return False

dist.init_process_group("gloo")
dist.barrier()
everybody = [psutil.Process(), *psutil.Process().parents()]
with open("rank-" + os.environ["RANK"], "w") as file:
    file.write(repr(sorted(set().union(*map(listening, filter(is_of_this_run, everybody))))))
dist.barrier()
"""


def script(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(LISTENING + text)
    return path


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_store_on_loopback_is_reached_at_loopback_alone(tmp_path: Path, host: str) -> None:
    environment = {"HOST": host, "GLOO_SOCKET_IFNAME": "lo"}
    (output,) = run_ranks(tmp_path / "run", script(tmp_path, ALONE), world=1, **environment)
    assert output.splitlines()[-2:] == ["['127.0.0.1']"] * 2


def test_a_store_at_another_address_listens_as_torch_wants(tmp_path: Path) -> None:
    text = "store = dist.TCPStore('0.0.0.0', 0, 1, True, wait_for_workers=False)\nprint(listening(psutil.Process()))"
    (output,) = run_ranks(tmp_path / "run", script(tmp_path, text), world=1)
    assert output.splitlines()[-1] in ("{'::'}", "{'0.0.0.0'}")


def torch_of(start: Callable[..., None]) -> Any:
    """Return a torch whose stores begin so, as this process would see it."""
    torch: Any = SimpleNamespace(distributed=SimpleNamespace(TCPStore=type("TCPStore", (), {"__init__": start})))
    keep_on_loopback(torch)
    return torch


def test_a_store_that_fails_closes_the_socket_alone(tmp_path: Path) -> None:
    """Forces the fault: torch closes the socket and fails, and the number belongs to a file of the program then."""
    opened: list[int] = []

    def start(_: object, *, master_listen_fd: int, **__: object) -> None:
        os.close(master_listen_fd)
        opened.append(os.open(tmp_path, os.O_RDONLY))
        raise RuntimeError("the other ranks did not come")

    with pytest.raises(RuntimeError, match="did not come"):
        torch_of(start).distributed.TCPStore("localhost", 0, 1, True)
    gc.collect()
    os.close(opened[0])  # raises OSError if somebody else closed it


def test_a_torch_that_takes_no_socket_gets_none_and_finds_the_port_free() -> None:
    ports: list[int] = []

    def start(_: object, host_name: str, port: int, world_size: int, is_master: bool) -> None:
        with socket.socket() as listener:
            listener.bind((host_name, port))
            ports.append(port)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch_of(start).distributed.TCPStore("127.0.0.1", port, 1, True)
    assert ports == [port]


@pytest.mark.ring("all")
@pytest.mark.parametrize("launcher", ["srun", "torchrun"])
def test_no_process_of_a_program_on_one_host_listens_elsewhere(tmp_path: Path, launcher: str) -> None:
    install_tools(tmp_path)
    folder = program_folder(
        tmp_path,
        ["python", str(script(tmp_path, TWO))],
        launcher=launcher,
        resources={"kind": "local", "ranks_per_node": 2},
        environment={"venv": str(Path(sys.executable).parents[1])},
    )
    words = [sys.executable, "-I", "-S", "-u", str(agent_folder(tmp_path)), str(folder.path), "--attempt", "1"]
    with folder.open_log_for_append() as log:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0, timeout=150)
    assert done.returncode == 0, folder.log.read_text()
    assert [(folder.path / f"rank-{rank}").read_text() for rank in range(2)] == ["['127.0.0.1']"] * 2

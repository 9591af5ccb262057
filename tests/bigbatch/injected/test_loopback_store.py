"""The store of a program's ranks on one host listens on the loopback address alone, whoever serves it."""

import subprocess
import sys
from pathlib import Path

import pytest

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

"""Tests of `bigbatch up`: one process tree that starts, restarts ended processes, and ends completely."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl

import httpx
import psutil
import pytest

from bigbatch.client import Client
from bigbatch.errors import ApiError, Unreachable
from bigbatch.service.home_lock import lock_home
from contract.access.service_address import address_of_home
from tests.testing.api import target
from tests.testing.servers import free_port

PUPPET = Path(__file__).parent / "puppet"
PARTS = ["clock", "worker", "api"]


def ignore_ctrl_c() -> None:
    """Do what a shell without job control does for `COMMAND &`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Up:
    """A running command whose output goes to a file, on a port that no connection gets before the service does."""

    def __init__(self, folder: Path, *words: str, puppet: str | None = "", port: int | None = None) -> None:
        self.home, self._output = folder / "home", folder / "output"
        environment = {**os.environ, "BIGBATCH_HOME": str(self.home), "PYTHONUNBUFFERED": "1"}
        if puppet is not None:
            environment |= {"PYTHONPATH": str(PUPPET), "PUPPET": puppet}
        command = [sys.executable, "-m", "bigbatch.cli", *words, "--port", str(port or free_port())]
        with self._output.open("wb") as reported:
            self.process = subprocess.Popen(
                command,
                stdout=reported,
                stderr=reported,
                env=environment,
                start_new_session=True,
                cwd=folder,
                preexec_fn=ignore_ctrl_c,
            )

    def output(self) -> str:
        return self._output.read_text()

    def wait_for(self, text: str, limit_s: float = 120) -> str:
        until = time.monotonic() + limit_s
        while text not in self.output():
            assert time.monotonic() < until, self.output()
            assert self.process.poll() is None, self.output()
            time.sleep(0.05)
        return self.output()

    def url(self) -> str:
        return self.wait_for("Bigbatch is at http").split("Bigbatch is at ")[1].split()[0]

    def part(self, name: str) -> psutil.Process:
        children = psutil.Process(self.process.pid).children()
        return next(child for child in children if name in child.cmdline())

    def tree(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[Up]]:
    """Put what was started here: it is ended, whatever the test found."""
    started: list[Up] = []
    yield started
    for up in started:
        if up.process.poll() is None:
            for process in up.tree():
                process.kill()
            up.process.kill()
            up.process.wait()


def sessions(processes: list[psutil.Process]) -> set[int]:
    """Those of the processes that are still there: the worker calls programs that end at once."""
    found = set()
    for process in processes:
        with suppress(ProcessLookupError):
            found.add(os.getsid(process.pid))
    return found


def gone(processes: list[psutil.Process], limit_s: float) -> bool:
    """Return whether the processes end in time; one that ended without a parent that awaits it has ended too."""
    left = psutil.wait_procs(processes, timeout=limit_s)[1]
    return all(process.status() == psutil.STATUS_ZOMBIE for process in left)


@pytest.mark.ring("all")
def test_up_leaves_nothing_behind(tmp_path: Path, started: list[Up]) -> None:
    up = Up(tmp_path, "up", puppet=None)  # the real scheduler: that its parts end in time is its promise
    started.append(up)
    url, tree = up.url(), up.tree()
    assert Client(url).ready().ready
    assert address_of_home(str(up.home)) == url
    assert len(tree) >= len(PARTS)
    assert os.getsid(up.process.pid) not in sessions(tree)  # no Ctrl-C of their own
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(90) == 0, up.output()
    assert gone(tree, 5)
    assert not (up.home / "up.lock").exists()
    assert address_of_home(str(up.home)) == ""
    assert (up.home / "logs" / "close.log").exists()
    assert "Traceback" not in up.output()
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", int(url.rsplit(":", 1)[1])))


@pytest.mark.ring("all")
def test_the_files_of_the_service_are_private_also_in_a_home_that_others_use(tmp_path: Path, started: list[Up]) -> None:
    """Forces the fault: the home is a folder like /tmp, which the service does not close."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o1777)
    before = os.umask(0o022)
    try:
        up = Up(tmp_path, "up")
    finally:
        os.umask(before)
    started.append(up)
    up.url()
    open_to_others = [path.name for path in up.home.iterdir() if path.stat().st_mode & 0o077]
    assert set(open_to_others) <= {"runs", "up.lock"}
    assert {"logs", "bigbatch.db"} <= {path.name for path in up.home.iterdir()}


@pytest.mark.ring("all")
def test_up_makes_a_token_that_only_its_user_has(
    tmp_path: Path, started: list[Up], monkeypatch: pytest.MonkeyPatch
) -> None:
    up = Up(tmp_path, "up")
    started.append(up)
    url, token = up.url(), (up.home / "token").read_text()
    link = up.wait_for("/sign-in#").split("15 minutes):\n  ")[1].splitlines()[0]
    assert token not in up.output()
    assert ("as root" in up.output()) == (os.geteuid() == 0)
    assert [*Client(url).experiments()] == []  # by the record of the service, as in another terminal
    address, _, fragment = link.partition("#")
    with httpx.Client() as browser:
        answer = browser.post(address, data=dict(parse_qsl(fragment)))
        assert (answer.status_code, target(answer)) == (303, "/")
        assert browser.get(f"{url}/api/v1/runs").status_code == 200
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another user"))
    with pytest.raises(ApiError, match="the token is missing or wrong"):
        Client(url).create({"base": {"model": {"kind": "import", "function": "torch.hub:load"}}})


@pytest.mark.ring("all")
def test_the_parts_end_when_up_is_killed(tmp_path: Path, started: list[Up]) -> None:
    up = Up(tmp_path, "up", puppet=None)
    started.append(up)
    up.url()
    tree = up.tree()
    up.process.kill()
    up.process.wait()
    assert gone(tree, 90)
    with lock_home(up.home):  # and its lock went with it
        pass


@pytest.mark.ring("all")
def test_a_part_that_dies_is_started_again(tmp_path: Path, started: list[Up]) -> None:
    up = Up(tmp_path, "up")
    started.append(up)
    client = Client(up.url())
    for name in ("worker", "api"):
        up.part(name).kill()
        up.wait_for(f"{name} ended (signal 9); restart in 1 s")
    until = time.monotonic() + 90
    while not answers(client):
        assert time.monotonic() < until
        time.sleep(0.1)
    tree = up.tree()
    assert len(tree) == len(PARTS)
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(90) == 0, up.output()
    assert gone(tree, 5)
    assert (up.home / "closed").exists()


def answers(client: Client) -> bool:
    try:
        return client.ready().ready
    except Unreachable:
        return False


@pytest.mark.ring("all")
def test_a_part_that_does_not_start_is_shown_with_its_last_words(tmp_path: Path, started: list[Up]) -> None:
    up = Up(tmp_path, "up", puppet="falls")
    started.append(up)
    assert up.process.wait(120) == 1
    assert "worker ended (exit code 1); the last lines of " in up.output()
    assert "the worker cannot find its feet" in up.output()
    assert (up.home / "closed").exists()


@pytest.mark.ring("all")
def test_first_run_carries_one_experiment_out(tmp_path: Path, spec: Path, started: list[Up]) -> None:
    with socket.create_server(("127.0.0.1", port := free_port())):
        up = Up(tmp_path, "first-run", "--once", str(spec), port=port)
        started.append(up)
        assert up.process.wait(150) == 0, up.output()
    assert f"Port {port} is in use, so the service uses port " in up.output()
    assert "/experiments/1" in up.output()
    assert "The service and its pages end with the experiment" in up.output()
    assert "/sign-in#" not in up.output(), "the link is dead before it is opened"
    assert "run 2 schedule.rate=0.1: done: held-out accuracy 91.25 %" in up.output()
    assert not (up.home / "up.lock").exists()


@pytest.mark.ring("all")
def test_first_run_stays_and_a_second_ctrl_c_kills_at_once(tmp_path: Path, spec: Path, started: list[Up]) -> None:
    up = Up(tmp_path, "first-run", str(spec), puppet="resists")
    started.append(up)
    up.wait_for("until Ctrl-C")
    tree = up.tree()
    up.process.send_signal(signal.SIGINT)
    up.wait_for("stopping the service")
    time.sleep(1)  # sooner, it would count as the same
    assert up.process.poll() is None
    again = time.monotonic()
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(90) == 0
    assert time.monotonic() - again < 8  # asked once, a part that resists is given ten
    assert gone(tree, 5)


@pytest.mark.ring("all")
@pytest.mark.parametrize("replaced", [False, True])
def test_up_ends_with_a_sentence_when_its_home_is_deleted(tmp_path: Path, started: list[Up], replaced: bool) -> None:
    up = Up(tmp_path, "up")
    started.append(up)
    up.wait_for("Sign in with a browser")
    tree = up.tree()
    up.home.rename(tmp_path / "away")  # one step, so that no process writes into a half-deleted folder
    if replaced:
        up.home.mkdir()
    assert up.process.wait(90) == 1, up.output()
    assert f"the home '{up.home}' was deleted or moved, so the service ends" in up.output()
    assert gone(tree, 5)
    assert "Traceback" not in up.output()
    assert not (tmp_path / "away" / "closed").exists()
    assert not replaced or not list(up.home.iterdir())

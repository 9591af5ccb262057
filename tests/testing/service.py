"""The whole service as its three processes, to be started, killed and started again by tests."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

import httpx

from tests.testing.servers import free_port, wait_for

ENDED = {"done", "failed", "cancelled"}
HOUSE = Path(__file__).parents[2]


@dataclass
class Service:
    environment: dict[str, str]
    logs: Path
    port: int = field(default_factory=free_port)
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    cut: int = 0  # POSTs whose connection broke

    def start(
        self, part: str, *, name: str = "", before: Sequence[str] = (), module: str = "", more: Sequence[str] = ()
    ) -> None:
        """Start "api", "worker" or "clock"; perhaps as one more, behind a command, or another module in its place."""
        reported = ["api", "--port", str(self.port)] if part == "api" else ["scheduler", part]
        with (self.logs / f"{part}.log").open("ab") as log:
            command = [*before, sys.executable, "-m", *([module, *more] if module else reported)]
            self.processes[name or part] = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)

    def kill(self, part: str) -> None:
        """End a part as a power cut would: kill -9."""
        self.processes[part].send_signal(signal.SIGKILL)
        self.processes[part].wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        """The token that the API stored in its home."""
        return (Path(self.environment["BIGBATCH_HOME"]) / "token").read_text()

    def ask(self, method: str, path: str, *, timeout: float = 60, **more: Any) -> httpx.Response:
        """Send a request with the token; return the answer."""
        address = f"{self.url}/api/v1{path}"
        authorized = {"authorization": f"Bearer {self.token}", **more.pop("headers", {})}
        return httpx.request(method, address, headers=authorized, timeout=timeout, **more)

    def get(self, path: str, **query: Any) -> Any:
        answer = self.ask("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, text: str, *, force: bool = False) -> list[int]:
        """POST an experiment in YAML; return its runs."""
        path = "/experiments?force=true" if force else "/experiments"
        answer = self.ask("POST", path, content=text, headers={"content-type": "application/yaml"})
        assert answer.status_code == 201, answer.text
        return list(answer.json()["runs"])

    def post_until_answered(self, text: str, patience_s: float = 120) -> list[int]:
        """POST as one must where the API may fall: under a key, until there is an answer; return the runs."""
        until = time.monotonic() + patience_s
        headers = {"content-type": "application/yaml", "idempotency-key": token_hex(8)}
        while time.monotonic() < until:
            try:
                answer = self.ask("POST", "/experiments", content=text, headers=headers, timeout=20)
            except httpx.TransportError as error:
                self.cut += not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                time.sleep(0.05)
                continue
            if answer.status_code == 201:
                return list(answer.json()["runs"])
            # the database is away, its clusters are not known yet, or the first sending is still being carried out
            assert answer.status_code in (409, 422, 500, 503), answer.text
            time.sleep(0.5)
        raise TimeoutError(f"no answer within {patience_s:g} s")

    def stop(self, run_id: int) -> None:
        """Ask that a run stop."""
        self.ask("POST", f"/runs/{run_id}/stop").raise_for_status()

    def is_up(self) -> bool:
        try:
            return httpx.get(f"{self.url}/api/v1/ready", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def wait_for_api(self) -> None:
        """Wait until the service answers and is ready."""
        wait_for("the service", self.is_up)

    def wait_until(self, run_id: int, *, step: int, patience_s: float = 150) -> None:
        """Wait until the run has taken `step` steps; fail at once when it ends before."""
        until = time.monotonic() + patience_s
        while (run := self.get(f"/runs/{run_id}"))["step"] < step:
            assert run["state"] not in ENDED, self.story(run_id)
            assert time.monotonic() < until, self.story(run_id)
            time.sleep(0.1)

    def wait_for_end(self, run_id: int, patience_s: float = 240) -> dict[str, Any]:
        """Wait until the run has ended; return it."""
        until = time.monotonic() + patience_s
        while (run := self.get(f"/runs/{run_id}"))["state"] not in ENDED:
            assert time.monotonic() < until, self.story(run_id)
            time.sleep(0.2)
        return dict(run)

    def story(self, run_id: int) -> str:
        """All that is known of a run, for the message of a test that fails."""
        run, log = self.get(f"/runs/{run_id}"), self.ask("GET", f"/runs/{run_id}/log?offset=-3000").json().get("text")
        parts = "\n".join(f"--- {path.name}\n{path.read_text()[-2000:]}" for path in self.logs.glob("*.log"))
        return f"{run['state']}, job {run['job_id']}, {run['reason']}, {run['moves']}\n--- its log\n{log}\n{parts}"


@contextmanager
def running(home: Path, settings: Mapping[str, str], *, before: Sequence[str] = ()) -> Iterator[Service]:
    """The service on a home folder, migrated and ready; afterwards all of it is gone, local jobs too.

    `before` is a command behind which every part is started.
    """
    home.mkdir(parents=True, exist_ok=True)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("BIGBATCH_")}
    # its local jobs find parts of the tests' own, as a slow net (tests.testing.trainers.slow_net)
    path = os.pathsep.join([str(HOUSE), *filter(None, [inherited.get("PYTHONPATH")])])
    own = {"BIGBATCH_HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "PYTHONPATH": path}
    environment = {**inherited, **own, **settings}
    subprocess.run([sys.executable, "-m", "migrations", "upgrade"], env=environment, check=True)
    service = Service(environment, home)
    try:
        for part in ("api", "worker", "clock"):
            service.start(part, before=before)
        service.wait_for_api()
        yield service
    finally:
        for process in service.processes.values():
            process.terminate()
        for process in service.processes.values():
            process.wait(150)  # a worker ends its ticks first
        subprocess.run([sys.executable, "-m", "scheduler", "close"], env=environment, check=True, timeout=150)

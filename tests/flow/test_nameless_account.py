"""The service under a user id without a name and without HOME, as a container with a random user has it."""

import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigbatch.client import Client
from tests.testing.needs import program, require
from tests.testing.servers import free_port, wait_for
from tests.testing.service import HOUSE

pytestmark = pytest.mark.flow
USER = 54_321
PYTHON = "/usr/bin/python3"  # that other users can start
IMPORTS = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import scheduler.app, torch'], check=True)"
SPEC = """
name: of nobody
base:
  model: {kind: convnet}
  data: {kind: glyphs, train_samples: 128, heldout_samples: 64}
  optimizer: {kind: sgd}
  schedule: {kind: constant, rate: 0.05}
  batch: 32
  epochs: 1
  resources: {kind: local, ranks_per_node: 1}
"""


class Nobody:
    """What such a user calls, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        path = os.pathsep.join([str(HOUSE), sysconfig.get_path("purelib")])
        variables = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": path, "BIGBATCH_SLURM": "false"}
        self.environment = {**variables, "BIGBATCH_HOME": str(self.home)}
        self._prefix = [str(program("setpriv")), f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]

    def start(self, *words: str) -> "subprocess.Popen[str]":
        output = (self.folder / "output").open("w")
        command = [*self._prefix, PYTHON, "-m", *words]
        return subprocess.Popen(command, env=self.environment, cwd=self.folder, stdout=output, stderr=output, text=True)

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [*self._prefix, PYTHON, "-m", *words]
        return subprocess.run(
            command, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=120
        )


@pytest.fixture
def nobody() -> Iterator[Nobody]:
    """Such a user; pytest's folders are closed to it."""
    require([] if os.geteuid() == 0 else ["needs root, to be another user"])
    folder = Path(tempfile.mkdtemp(prefix="bigbatch-nobody-"))
    shutil.chown(folder, USER, USER)
    nobody = Nobody(folder)
    (folder / "probe.py").write_text(IMPORTS)
    require(
        [] if nobody.call("probe").returncode == 0 else [f"needs code and packages that {PYTHON} of others can read"]
    )
    yield nobody
    shutil.rmtree(folder, ignore_errors=True)


def test_the_service_and_its_runs_work_below_its_home(nobody: Nobody) -> None:
    port = free_port()
    service = nobody.start("bigbatch.cli", "up", "--port", str(port))
    try:
        wait_for(
            "the service", lambda: "Ctrl-C" in (nobody.folder / "output").read_text() or service.poll() is not None
        )
        assert service.poll() is None, (nobody.folder / "output").read_text()
        nobody.environment["BIGBATCH_URL"] = url = f"http://127.0.0.1:{port}"
        assert "sign-in#code=" in nobody.call("bigbatch.cli", "sign-in").stdout, "by the record in its home"
        with Client(url, (nobody.home / "token").read_text()) as client:
            (run,) = client.create(SPEC).runs
            wait_for("the end of the run", lambda: client.run(run).state in ("done", "failed"))
            ended = client.run(run)
            assert (ended.state, ended.reason) == ("done", None), client.log(run)
        doctor = nobody.call("bigbatch.cli", "doctor")
        assert doctor.returncode == 0, doctor.stdout + doctor.stderr
        assert list((nobody.home / ".cache" / "bigbatch").iterdir())
    finally:
        service.terminate()
        service.wait(120)
    for log in [nobody.folder / "output", *(nobody.home / "logs").iterdir()]:
        assert "Traceback" not in log.read_text(), log.read_text()


def test_without_a_home_of_the_service_the_command_says_what_to_set(nobody: Nobody) -> None:
    del nobody.environment["BIGBATCH_HOME"]
    refused = nobody.call("bigbatch.cli", "up", "--port", "0")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"the user id {USER} has no entry in the password database and HOME is not set")
    assert "set HOME or BIGBATCH_HOME" in refused.stderr

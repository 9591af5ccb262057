"""Programs in the style of their frameworks' own examples, launched from the shell as their users would.

The scripts are in tests/flow/real_programs; they use relative paths and know nothing of Bigbatch.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.testing.service import Service

STEP_S = "0.2"  # of the scripts, so that a run can be stopped in the middle
PATIENCE_S = 300.0
BIGBATCH = Path(sys.executable).parent / "bigbatch"
AS_ROOT = ("--env", "OMPI_ALLOW_RUN_AS_ROOT=1", "--env", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")


class Program(NamedTuple):
    """A program and the launch line that its user types."""

    name: str  # in the table of docs/programs.md
    words: str
    saved: str  # its checkpoint, in the run's folder
    launcher: str = "srun"
    ranks: int = 2
    options: tuple[str, ...] = ()
    series: str = "loss"  # that its curve has; empty: no metric is read, and a line says what to do
    says: str = ""  # the line
    sweep: str = "lr=0.01,0.02"
    only_trackio: bool = False


LOSS = r"loss (?P<loss>[\d.]+)"
PROGRAMS = [
    Program("Lightning", "python lightning_fit.py --lr {lr}", "ck/last.ckpt", series="train_loss"),
    Program("Accelerate", "python accelerate_loop.py --lr {lr}", "state/step", series="tracking/demo/train_loss"),
    Program(
        "HF Trainer", "python hf_trainer.py --lr {lr}", "out/checkpoint-*/trainer_state.json", series="out/train/loss"
    ),
    Program(
        "Hydra",
        "python hydra_app.py model.width={model.width}",
        "last_step.txt",
        launcher="plain",
        ranks=1,
        options=("--metric", rf"step (?P<step>\d+) {LOSS}"),
        sweep="model.width=3,4",
    ),
    Program(
        "DDP by torchrun, ImageNet style",
        "python ddp_imagenet.py --lr {lr}",
        "checkpoint.pth.tar",
        launcher="torchrun",
        options=("--metric", r"Epoch: \[\d+\]\[ *(?P<step>\d+)/.*Loss (?P<loss>\S+)"),
    ),
    Program(
        "mpi4py",
        "python mpi_mean.py --lr {lr}",
        "state.txt",
        launcher="mpirun",
        options=("--metric", r"step (?P<step>\d+) error (?P<error>\S+)", *AS_ROOT),
        series="error",
    ),
    Program(
        "nanoGPT style",
        "python nano_gpt.py --learning_rate={lr}",
        "out/ckpt.pt",
        launcher="plain",
        ranks=1,
        options=("--metric", rf"iter (?P<step>\d+): {LOSS}"),
    ),
    Program("SummaryWriter", "python tracked.py summary_writer --lr {lr}", "ckpt.txt", launcher="plain", ranks=1),
    *(
        Program(
            name,
            f"python tracked.py {name.split()[0]} --lr {{lr}}",
            "ckpt.txt",
            launcher="plain",
            ranks=1,
            series="",
            says={"mlflow": "MLflow"}.get(name, name.split()[0]),
            only_trackio=name == "trackio",
        )
        for name in ("wandb offline", "mlflow", "trackio")
    ),
]


@dataclass
class Place:
    """Where the programs run: this machine, or two hosts of the lab."""

    name: str
    service: Service
    project: Path
    environments: dict[bool, Path]  # by `only_trackio`
    options: tuple[str, ...] = ()  # of the launch line, for two ranks
    one: tuple[str, ...] = ()  # for one process
    seen: dict[str, "Seen"] = field(default_factory=dict)

    def launch(self, program: Program, sweep: str) -> list[dict[str, Any]]:
        """Type the launch line; return the runs."""
        place = self.options if program.ranks > 1 else self.one
        words = [str(BIGBATCH), "run", "--name", program.name, "--launcher", program.launcher, *place]
        words += ["--venv", str(self.environments[program.only_trackio]), "--env", f"STEP_S={STEP_S}"]
        words += [*program.options, "--sweep", sweep, "--", *shlex.split(program.words)]
        environment = {**os.environ, "BIGBATCH_URL": self.service.url, "BIGBATCH_TOKEN": self.service.token}
        done = subprocess.run(words, cwd=self.project, env=environment, capture_output=True, text=True, timeout=60)
        found = re.match(r"experiment (\d+)", done.stdout)
        assert found, done.stdout + done.stderr
        return list(self.service.get(f"/experiments/{found[1]}/runs")["items"])

    def folder(self, run: dict[str, Any]) -> Path:
        """Return the folder of a run."""
        return next((Path(self.service.logs) / "runs").glob(f"{run['id']:06}-*"))

    def await_checkpoint(self, run: dict[str, Any], program: Program) -> None:
        """Wait until the program has saved its own checkpoint."""
        until = time.monotonic() + PATIENCE_S
        while not any((self.folder(run) / "work").glob(program.saved) if self._has_folder(run) else ()):
            now = self.service.get(f"/runs/{run['id']}")
            assert now["state"] not in ("done", "failed", "cancelled"), self.service.story(run["id"])
            assert time.monotonic() < until, self.service.story(run["id"])
            time.sleep(0.1)

    def _has_folder(self, run: dict[str, Any]) -> bool:
        return any((Path(self.service.logs) / "runs").glob(f"{run['id']:06}-*"))

    def kill_rank(self, run: dict[str, Any], program: Program) -> int:
        """Kill the program of the last rank as the kernel would; return the rank."""
        rank = program.ranks - 1
        pids = ranks_of(self.folder(run), program.words.split()[1], rank)
        assert pids, self.service.story(run["id"])
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return rank

    def written(self, run: dict[str, Any]) -> dict[tuple[int, int], str]:
        """Return the files of a run's working folder by device and inode."""
        work, found = self.folder(run) / "work", {}
        for path in work.rglob("*"):
            if path.is_file() and not path.is_symlink():
                status = path.stat()
                found[status.st_dev, status.st_ino] = str(path)
        return found


class Seen(NamedTuple):
    """What a test has seen of a program at one place, for the table."""

    metrics: str
    killed: str
    resumed: int


def ranks_of(folder: Path, script: str, rank: int) -> list[int]:
    """Return the processes of a rank's program; one process that has no number is rank 0."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if not entry.name.isdecimal() or script not in words or not words[0].endswith(("python", "python3")):
                continue
            variables = dict(
                one.partition("=")[::2] for one in (entry / "environ").read_bytes().decode(errors="replace").split("\0")
            )
            if variables.get("BIGBATCH_RUN_FOLDER") == str(folder) and int(variables.get("RANK", "0")) == rank:
                found.append(int(entry.name))
    return found

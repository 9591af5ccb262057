"""A run that attacks the service by what it leaves in its folder; the seed of the run chooses what (hostile_plants).

`python -m tests.testing.faults.hostile_run FOLDER ATTEMPT` takes the place of the engine; with no arguments it is a
program below the agent. Runs with seeds below FIRST are honest: the engine's train as light ones do.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from contract.folder.job_identity import CLAIM_REFUSED_EXIT_CODE
from contract.folder.run_folder import RunFolder
from runfiles.claim import ClaimRefused, claim_attempt
from tests.testing.faults import light
from tests.testing.faults.hostile_plants import carry_out, choose
from trainers.job import SPEC_WAIT_S, wait_for_spec
from trainers.progress.reporter import Reporter
from trainers.ranks import heartbeat

FIRST = 1_000_000
LIFETIMES_S = (2.0, 15.0)
PROGRAM = """\
#!/bin/sh
case " $* " in *"/agent "*) exec {python} "$@";; esac
while [ "$1" != trainers ]; do shift; done
PYTHONPATH={house} exec {python} -m tests.testing.faults.hostile_run "$2" "$4"
"""


def program(folder: Path) -> Path:
    """Write the program that takes the place of Python on the compute nodes."""
    path = folder / "hostile-run"
    path.write_text(PROGRAM.format(house=light.HOUSE, python=sys.executable))
    path.chmod(0o755)
    return path


def of_engine(folder: RunFolder, attempt: int) -> None:
    """Carry out an attempt of an engine's run."""
    wait_for_spec(folder, SPEC_WAIT_S)
    seed = folder.read_spec().seed
    if seed < FIRST:
        os._exit(light.train(folder, attempt))
    try:
        claim_attempt(folder, attempt, job=light.job_name())
    except ClaimRefused:
        os._exit(CLAIM_REFUSED_EXIT_CODE)
    heartbeat.start_heartbeat(folder, attempt, every_s=2.0)
    report = Reporter(folder, attempt, rank=0)
    report.started([os.environ["SLURMD_NODENAME"]], device="cpu", steps=folder.read_spec().steps, versions={})
    report.points(1, {"loss": 1.0})
    attack_and_leave(folder.path, seed)


def of_program() -> None:
    """Be a program of a user."""
    seed = int(json.loads(Path(os.environ["BIGBATCH_PARAMETERS"]).read_text())["seed"])
    attack_and_leave(Path(os.environ["BIGBATCH_RUN_FOLDER"]), seed)


def attack_and_leave(folder: Path, seed: int) -> None:
    """Plant, live for a while, and end as the seed says: well, with an error, by a signal, or only when killed."""
    os.nice(19)  # what it costs on its compute node is not the service's matter, and here both share the cores
    plants, dice = choose(seed), random.Random(seed)
    print("attack:", "; ".join(plant.name for plant in plants), flush=True)
    if dice.random() < 0.2:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    carry_out(plants, folder)
    time.sleep(dice.uniform(*LIFETIMES_S))
    end = dice.choice(["well", "error", "signal"])
    if end == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0 if end == "well" else 1)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        of_engine(RunFolder(Path(sys.argv[1]).resolve()), int(sys.argv[2]))
    else:
        of_program()

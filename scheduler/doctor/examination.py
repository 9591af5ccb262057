"""All checks of a site, in the order of what depends on what."""

import argparse
import shutil
from collections.abc import Iterator, Sequence

from contract.doctor import Check, Grade
from contract.settings import Settings
from scheduler.clusters.gate import OpenGate
from scheduler.clusters.slurm_commands import Commands
from scheduler.doctor import here
from scheduler.doctor.node import node
from scheduler.doctor.slurm import slurm

NO_SLURM = "runs go to this machine alone; everything else is checked"


def examine(settings: Settings, words: Sequence[str]) -> Iterator[Check]:
    """Check the site as `words` say: `--no-job`, `--partition NAME`, `--wait SECONDS`.

    Slurm is called about ten times, past the service's budget: a person asked for it.
    """
    asked = _parser().parse_args(words)
    yield from here.folders(settings)
    yield from here.database(settings)
    yield here.broker(settings)
    has_slurm = shutil.which("sbatch") is not None
    if not (has_slurm if settings.slurm is None else settings.slurm):
        found = "BIGBATCH_SLURM=false" if has_slurm else "no sbatch on PATH"
        yield Check(area="slurm", name="slurm", grade=Grade.NOTE, found=found, means=NO_SLURM)
        return
    commands, failed = Commands(OpenGate()), False
    for check in slurm(commands):
        failed = failed or check.grade is Grade.ERROR
        yield check
    if not failed and not asked.no_job:
        yield from node(settings, commands, partition=asked.partition, wait_s=asked.wait)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scheduler doctor")
    parser.add_argument("--no-job", action="store_true")
    parser.add_argument("--partition")
    parser.add_argument("--wait", type=float, default=90.0)
    return parser

"""All checks of a site, in the order of what depends on what."""

import argparse
import shutil
from collections.abc import Iterator, Sequence

from contract.api.site_check import Check, Grade, amiss
from contract.settings import Settings
from scheduler.clusters.rate_limit import OpenGate
from scheduler.clusters.shared_rate_limit import Budget
from scheduler.clusters.slurm.commands import Commands
from scheduler.doctor import service_host as here
from scheduler.doctor.compute_node import node
from scheduler.doctor.slurm import slurm
from scheduler.doctor.waiting_rate_limit import Turn
from store.session import engine_for

NO_SLURM = "runs go to this machine alone; everything else is checked"


def examine(settings: Settings, words: Sequence[str]) -> Iterator[Check]:
    """Check the site as `words` say: `--no-job`, `--partition NAME`, `--wait SECONDS`.

    Slurm is called about seven times, within the service's budget of calls where its database answers.
    """
    asked = _parser().parse_args(words)
    yield from here.folders(settings)
    yield from (stored := list(here.database(settings)))
    yield here.broker(settings)
    has_slurm = shutil.which("sbatch") is not None
    if not (has_slurm if settings.slurm is None else settings.slurm):
        found, advice = "no sbatch on PATH", "put Slurm's commands on the worker's PATH, if runs should go to a cluster"
        if has_slurm:
            found, advice = "BIGBATCH_SLURM=false", "BIGBATCH_SLURM=true, if runs should go to the Slurm that is here"
        yield amiss("slurm", "slurm", Grade.NOTE, found=found, means=NO_SLURM, advice=advice)
        return
    answers = any(check.name == "database" and check.grade in (Grade.OK, Grade.WARNING) for check in stored)
    gate = Turn(Budget(engine_for(settings.database_url()), "slurm")) if answers else OpenGate()
    commands, failed = Commands(gate), False
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

"""All checks of a site, in the order of their dependencies."""

import argparse
import shutil
from collections.abc import Iterator, Sequence

from contract.api.site_check import Check, Grade, failed_check
from contract.settings import Settings
from scheduler.clusters.cluster import RateLimitedError
from scheduler.clusters.rate_limit import UnlimitedRate
from scheduler.clusters.shared_rate_limit import SharedRateLimit
from scheduler.clusters.slurm.commands import Commands
from scheduler.clusters.slurm.presence import find_absence
from scheduler.doctor import service_host
from scheduler.doctor.compute_node import check_compute_node
from scheduler.doctor.deletions import check_deletions
from scheduler.doctor.orphans import check_orphans
from scheduler.doctor.slurm import check_slurm
from scheduler.doctor.torch import check_torch_here
from scheduler.doctor.waiting_rate_limit import WaitingRateLimit
from store.session import engine_for

NO_SLURM = "runs can use this machine only; all other checks continue"


def run_checks(settings: Settings, words: Sequence[str]) -> Iterator[Check]:
    """Yield the results of all checks; `words` are options: `--no-job`, `--partition NAME`, `--wait SECONDS`.

    The checks call Slurm about seven times, within the service's rate limit if its database answers.
    """
    options = _parser().parse_args(words)
    yield from service_host.check_folders(settings)
    yield from (stored := list(service_host.check_database(settings)))
    if _answers(stored):
        yield from check_deletions(settings, engine_for(settings.database_url()))
    yield service_host.check_broker(settings)
    if _answers(stored) and (orphans := check_orphans(settings)) is not None:
        yield orphans
    if settings.local:
        yield check_torch_here()
    if (unused := _find_unused(settings)) is not None:
        yield unused
        return
    rate_limit = (
        WaitingRateLimit(SharedRateLimit(engine_for(settings.database_url()), "slurm"))
        if _answers(stored)
        else UnlimitedRate()
    )
    try:
        yield from _check_cluster(settings, Commands(rate_limit), options)
    except RateLimitedError as doubt:
        means = "the service uses all calls of Slurm that the rate limit allows, so the other checks were not made"
        advice = "call bigbatch doctor again in a minute; GET /metrics shows which kinds of calls use the rate limit"
        yield failed_check("slurm", "rate limit", Grade.WARNING, found=str(doubt), means=means, advice=advice)


def _answers(stored: Sequence[Check]) -> bool:
    return any(check.name == "database" and check.grade in (Grade.OK, Grade.WARNING) for check in stored)


def _find_unused(settings: Settings) -> Check | None:
    """Return why the service does not use Slurm; None if it does."""
    absence = advice = None
    if settings.slurm is False:
        absence, advice = "BIGBATCH_SLURM=false", "set BIGBATCH_SLURM=true to use this machine's Slurm"
    elif settings.slurm is None and shutil.which("sbatch") is None:
        absence, advice = "sbatch is not on PATH", "add Slurm's commands to the worker's PATH to run on a cluster"
    elif settings.slurm is None and (absence := find_absence()):
        advice = "set SLURM_CONF to the cluster's slurm.conf to run on a cluster"
    if absence is None or advice is None:
        return None
    return failed_check("slurm", "slurm", Grade.NOTE, found=absence, means=NO_SLURM, advice=advice)


def _check_cluster(settings: Settings, commands: Commands, options: argparse.Namespace) -> Iterator[Check]:
    failed = False
    for check in check_slurm(commands):
        failed = failed or check.grade is Grade.ERROR
        yield check
    if not failed and not options.no_job:
        yield from check_compute_node(settings, commands, partition=options.partition, wait_s=options.wait)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scheduler doctor")
    parser.add_argument("--no-job", action="store_true")
    parser.add_argument("--partition")
    parser.add_argument("--wait", type=float, default=90.0)
    return parser

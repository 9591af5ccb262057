"""`bigbatch dry-run`: check an experiment and print its batch scripts, with or without a running service."""

import sys
from contextlib import suppress

import typer
from pydantic import ValidationError

from bigbatch.client import Client
from bigbatch.commands.options import SpecFile
from bigbatch.errors import BigbatchError, DocumentRefused
from bigbatch.spec_file import read_spec
from bigbatch.terminal.streams import run_shown
from contract.api.cluster_report import ClusterReport
from contract.spec.expanded import read_experiment
from contract.validation import issues_of


def dry_run(file: SpecFile) -> None:
    """Check FILE and print every point of its grid and the exact batch scripts; submit nothing.

    If a service answers, the plan uses the limits and the nodes of the service's Slurm. The folders and the settings
    of the scripts are those of this shell.
    """
    try:
        experiment = read_experiment(read_spec(file))
    except ValidationError as error:
        raise DocumentRefused(f"{file} is not a valid experiment", issues_of(error)) from error
    lines = [experiment.spec.model_dump_json()]
    if any(run.resources.kind == "slurm" for _, run in experiment.points) and (report := _slurm_report()):
        lines.append(report.model_copy(update={"queue": []}).model_dump_json())
    command = [sys.executable, "-P", "-m", "scheduler", "preview"]
    raise typer.Exit(run_shown(command, "\n".join(lines).encode()))


def _slurm_report() -> ClusterReport | None:
    """Return the report of the service's Slurm; None without a service or a report."""
    with suppress(BigbatchError), Client() as client:
        reports = [cluster.report for cluster in client.clusters() if cluster.kind == "slurm"]
        return next(filter(None, reports), None)
    return None

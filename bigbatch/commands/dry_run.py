"""`bigbatch dry-run`: an experiment checked and shown as it would be submitted; no service is needed."""

import subprocess
import sys
from contextlib import suppress

import typer
from pydantic import ValidationError

from bigbatch.client import Client
from bigbatch.commands.submit import SpecFile
from bigbatch.errors import BigbatchError, DocumentRefused
from bigbatch.spec_file import read_spec
from contract.api.cluster_report import ClusterReport
from contract.spec.experiment import ExperimentSpec
from contract.validation import faults_of


def dry_run(file: SpecFile) -> None:
    """Check FILE and print every point of its grid and the exact batch script; submit nothing.

    Where a service answers, the plan goes by what its Slurm admits and by its nodes.
    """
    try:
        spec = ExperimentSpec.model_validate(read_spec(file))
    except ValidationError as error:
        raise DocumentRefused(f"{file} cannot be carried out", faults_of(error)) from error
    lines = [spec.model_dump_json()]
    if any(run.resources.kind == "slurm" for _, run in spec.points()) and (report := _reported()):
        lines.append(report.model_copy(update={"queue": []}).model_dump_json())
    command = [sys.executable, "-P", "-m", "scheduler", "preview"]
    done = subprocess.run(command, input="\n".join(lines).encode(), check=False)
    raise typer.Exit(done.returncode)


def _reported() -> ClusterReport | None:
    """What the service's Slurm said of itself; None when there is no service, or it does not know."""
    with suppress(BigbatchError), Client() as client:
        reports = [cluster.report for cluster in client.clusters() if cluster.kind == "slurm"]
        return next(filter(None, reports), None)
    return None

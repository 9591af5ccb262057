"""`bigbatch dry-run`: an experiment checked and shown as it would be submitted; no service is needed."""

import subprocess
import sys

import typer
from pydantic import ValidationError

from bigbatch.errors import DocumentRefused
from bigbatch.specfile import read_spec
from bigbatch.submit import SpecFile
from contract.experiment import ExperimentSpec
from contract.faults import faults_of


def dry_run(file: SpecFile) -> None:
    """Check FILE and print every point of its grid and the exact batch script; submit nothing."""
    try:
        spec = ExperimentSpec.model_validate(read_spec(file))
    except ValidationError as error:
        raise DocumentRefused(f"{file} cannot be carried out", faults_of(error)) from error
    command = [sys.executable, "-P", "-m", "scheduler", "preview"]
    done = subprocess.run(command, input=spec.model_dump_json().encode(), check=False)
    raise typer.Exit(done.returncode)

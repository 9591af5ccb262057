"""`bigbatch orphans`: jobs and run folders that belong to no run, as after the restore of a backup."""

import subprocess
import sys
from typing import Annotated

import typer

from bigbatch.commands.up import read_service_settings
from bigbatch.errors import BigbatchError


def orphans(
    adopt: Annotated[bool, typer.Option("--adopt", help="Store their runs in the database again.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="End their jobs; the folders stay.")] = False,
) -> None:
    """Show jobs and run folders of this service that belong to no run in its database; adopt them, or end the jobs."""
    if adopt and cancel:
        raise BigbatchError("--adopt and --cancel exclude each other")
    read_service_settings(None)  # reports missing packages and wrong settings
    words = ["--adopt"] if adopt else ["--cancel"] if cancel else []
    command = [sys.executable, "-P", "-m", "scheduler", "orphans", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as done:
        for line in done.stdout or ():  # a command of a cluster may take its time
            print(line, end="", flush=True)
    if done.returncode:
        raise BigbatchError(f"the search ended with exit code {done.returncode}")

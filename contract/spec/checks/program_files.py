"""Checks of the files that a program needs, as far as the service's host sees them.

A local run starts on this host. Of a run on Slurm only absolute paths are checked that would be on the file system of
the run folders, which the compute nodes share with this host.
"""

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contract.spec.resources import Local
from contract.validation import ValidationIssue

if TYPE_CHECKING:
    from contract.spec.program.run import ProgramSpec

PLAIN = re.compile(r"[A-Za-z0-9_./+-]+")
LAUNCHERS = ("torchrun", "mpirun")  # programs that the agent starts
DEVICES = Path("/dev")
CONTAINER_COMMANDS = ("apptainer", "singularity")
OTHER_DRIVERS = ("kfd", "dxg")  # of AMD, and of a Windows host: their GPUs have no file each
BASH_WORDS = """
. [ alias bg builtin case cd command conda coproc declare do echo enable eval exec exit export for function if kill let
local module printf pushd read return select set shift shopt source test time times trap true type ulimit umask unset
until wait while
"""


def check_files(run: "ProgramSpec", runs_folder: Path) -> Iterator[ValidationIssue]:
    """Yield an issue for each file of one program that is not there."""
    environment, is_local = run.environment, run.resources.kind == "local"
    sees = _Sight(None if is_local else _device_of(runs_folder))
    if run.working_folder and sees.lacks(run.working_folder, is_folder=True):
        yield _missing("working_folder", "folder", run.working_folder)
    if environment.venv and sees.lacks(f"{environment.venv}/bin/python"):
        message = f"there is no Python virtual environment in {environment.venv}: bin/python is missing"
        yield ValidationIssue(path="environment.venv", message=message)
    container = environment.container
    if container and container.image.startswith("/") and sees.lacks(container.image):
        yield _missing("environment.container.image", "image", container.image)
    if container and container.kind == "apptainer" and _lacks_commands(run, CONTAINER_COMMANDS, sees):
        message = f"there is no command {' or '.join(CONTAINER_COMMANDS)} on this host to run the container"
        yield ValidationIssue(path="environment.container.kind", message=message)
    if run.resources.kind == "local":
        yield from _check_gpus(run.resources)
    if not container and (program := first_word(run)):
        yield from _check_executable(run, program, sees)
    if run.launcher in LAUNCHERS and not (container and run.launcher == "torchrun"):
        yield from _check_on_path(run, run.launcher, sees, "launcher")


class _Sight:
    """What this host sees: everything of its own, or only one file system that other hosts share."""

    def __init__(self, device: int | None) -> None:
        self.device = device

    def lacks(self, path: str, *, is_folder: bool = False) -> bool:
        """Return whether the path is surely not there."""
        exists = os.path.isdir(path) if is_folder else os.path.exists(path)
        return not exists and (self.device is None or _device_of(Path(path)) == self.device)


def _device_of(path: Path) -> int | None:
    """Return the file system of the path, or of the nearest folder above it that exists."""
    for place in (path, *path.parents):
        try:
            return os.lstat(place).st_dev
        except OSError:
            continue
    return None


def first_word(run: "ProgramSpec") -> str | None:
    """Return the program that the command starts; None if only bash can tell."""
    if isinstance(run.command, list):
        return run.command[0] if PLAIN.fullmatch(run.command[0]) else None
    try:
        words = shlex.split(run.command)
    except ValueError:
        return None
    first = words[0] if words else ""
    return first if PLAIN.fullmatch(first) and first not in BASH_WORDS.split() else None


def _check_executable(run: "ProgramSpec", program: str, sees: _Sight) -> Iterator[ValidationIssue]:
    if "/" in program:
        path = program if program.startswith("/") else f"{run.working_folder}/{program}"
        if (program.startswith("/") or run.working_folder) and sees.lacks(path):
            yield _missing("command", "executable", path)
        elif sees.device is None and os.path.isfile(path) and not os.access(path, os.X_OK):
            yield ValidationIssue(path="command", message=f"{path} may not be executed: chmod +x {path}")
        return
    yield from _check_on_path(run, program, sees, "command")


def _check_on_path(run: "ProgramSpec", program: str, sees: _Sight, field: str) -> Iterator[ValidationIssue]:
    """Yield an issue if this host starts the program and the PATH is known and lacks it."""
    if _lacks_commands(run, [program], sees):
        message = f"there is no executable '{program}' on this host; the PATH of the service is {_path_of(run)}"
        yield ValidationIssue(path=field, message=message)


def _lacks_commands(run: "ProgramSpec", names: Sequence[str], sees: _Sight) -> bool:
    """Return whether this host starts the run, its PATH is known, and none of the commands is on it."""
    if sees.device is not None or (path := _path_of(run)) is None:
        return False
    return not any(shutil.which(name, path=path) for name in names)


def _path_of(run: "ProgramSpec") -> str | None:
    """Return the PATH of a run of this host; None if only the run itself can tell."""
    environment = run.environment
    if environment.setup or environment.modules or environment.conda or "PATH" in environment.variables:
        return None
    path = os.environ.get("PATH", os.defpath)
    return f"{environment.venv}/bin:{path}" if environment.venv else path


def _check_gpus(need: Local) -> Iterator[ValidationIssue]:
    """Yield an issue if this host has NVIDIA's driver alone, or no driver, and fewer GPUs than the ranks request."""
    asked = (need.gpus_per_rank or 0) * need.node_ranks
    if not asked or any((DEVICES / name).exists() for name in OTHER_DRIVERS):
        return
    present = sum(bool(re.fullmatch(r"nvidia\d+", path.name)) for path in DEVICES.glob("nvidia*"))
    if asked > present:
        message = f"{need.gpus_per_rank} x {need.node_ranks} ranks = {asked} GPUs; this host has {present or 'none'}"
        yield ValidationIssue(path="resources.gpus_per_rank", message=message)


def _missing(path: str, what: str, place: str) -> ValidationIssue:
    return ValidationIssue(path=path, message=f"there is no {what} {place}, as this service's host sees it")

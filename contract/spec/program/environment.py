"""The spec of a program's environment: what a job sets up before it starts the program's ranks."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.validation import ValidationIssue

MAX_VARIABLES, MAX_MODULES, MAX_SETUP_LINES = 200, 50, 100
ONE_LINE = r"^[^\x00-\x1f\x7f]+$"
AbsolutePath = Annotated[str, Field(pattern=r"^/[^\x00-\x1f\x7f]*$", max_length=4096)]
EnvironmentName = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=4096)]
ModuleName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_./+-]*$", max_length=200)]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]
VariableValue = Annotated[str, Field(pattern=r"^[^\x00]*$", max_length=32_000)]
SetupLine = Annotated[str, Field(pattern=r"^[^\x00\r\n]*$", max_length=4096)]
RESERVED = ("BIGBATCH_", "SLURM_", "SBATCH_")  # beginnings of names that belong to the service and to Slurm


class Container(Spec):
    """A container in which the ranks run."""

    kind: Literal["apptainer", "pyxis"] = "apptainer"
    """The program that runs containers: Apptainer, or NVIDIA's plugin Pyxis for srun."""
    image: Annotated[str, Field(pattern=ONE_LINE, max_length=4096)] = Field(examples=["/images/torch.sif"])
    """Path of the image file, or its address in a container registry."""
    mounts: Annotated[
        list[Annotated[str, Field(pattern=r"^/[^,\x00-\x1f\x7f]*$", max_length=4096)]], Field(max_length=50)
    ] = Field(default=[], examples=[["/data", "/scratch:/scratch"]])
    """Folders that the container shows, as `FOLDER` or `FOLDER:PLACE`; the run's folder and its code are always
    shown."""
    gpus: bool = False
    """Whether the container shows the host's NVIDIA devices (`--nv` of Apptainer; Pyxis shows them always)."""


class Environment(Spec):
    """The environment of the ranks, set up in this order: setup lines, modules, conda or venv, variables."""

    setup: Annotated[list[SetupLine], Field(max_length=MAX_SETUP_LINES)] = Field(
        default=[], examples=[["ulimit -n 4096"]]
    )
    """Lines of bash that run before the ranks start, on each node."""
    modules: Annotated[list[ModuleName], Field(max_length=MAX_MODULES)] = Field(default=[], examples=[["cuda/12.4"]])
    """Environment modules that are loaded (`module load`)."""
    conda: EnvironmentName | None = Field(default=None, examples=["torch"])
    """Name or path of a conda environment; null: none."""
    venv: AbsolutePath | None = Field(default=None, examples=["/home/ann/venvs/torch"])
    """Folder of a Python virtual environment; null: none."""
    container: Container | None = None
    """Container in which the ranks run; null: none."""
    variables: Annotated[dict[VariableName, VariableValue], Field(max_length=MAX_VARIABLES)] = Field(
        default={}, examples=[{"OMP_NUM_THREADS": "4"}]
    )
    """Environment variables of the ranks."""


def check_environment(environment: Environment) -> Iterator[ValidationIssue]:
    """Yield an issue for each field of the environment that conflicts with another field or with the service."""
    if environment.conda and environment.venv:
        yield ValidationIssue(path="venv", message="a program has one Python: remove `conda` or `venv`")
    for name in environment.variables:
        if reserved := next((start for start in RESERVED if name.upper().startswith(start)), None):
            message = f"names that begin with {reserved} are reserved"
            yield ValidationIssue(path=f"variables.{name}", message=message)

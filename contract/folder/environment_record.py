"""The record of the environment of an attempt: attempts/N.environment.json, written by a program's agent."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from contract.folder.bounds import HostName, Int4, Line, Moment
from contract.folder.files import untrusted_file
from contract.folder.record import FolderRecord, read_record

MAX_BYTES = 2 << 20
MAX_PACKAGES, MAX_VARIABLES, MAX_MODULES, MAX_GPUS = 2_000, 500, 200, 64
Lines = dict[Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")], Line]


class Interpreter(FolderRecord):
    """The Python of a program."""

    executable: Line = Field(examples=["/home/ann/venv/bin/python"])
    """Path of the interpreter."""
    version: Line = Field(examples=["3.11.7"])
    """Version of the language."""
    implementation: Line = Field(default="", examples=["CPython"])
    """Name of the implementation."""


class ContainerImage(FolderRecord):
    """The image of the container in which a program ran."""

    kind: Line = Field(examples=["apptainer"])
    """The program that ran the container."""
    image: Line = Field(examples=["/images/torch.sif"])
    """Path or address of the image."""
    digest: Line | None = Field(default=None, examples=["sha256:9f86d081"])
    """Digest in the address of the image, or the id of an image file; null if neither is known."""


class EnvironmentRecord(FolderRecord):
    """The environment of an attempt of a program, as rank 0 found it."""

    attempt: Int4 = Field(examples=[1])
    """Number of the attempt, from 1."""
    at: Moment = Field(examples=[1_780_000_000.0])
    """When it was recorded, by the host's clock; seconds since 1970."""
    host: HostName = Field(examples=["n1"])
    """The host of rank 0."""
    system: Line = Field(default="", examples=["Linux"])
    """Name of the operating system."""
    kernel: Line = Field(default="", examples=["6.1.0-18-amd64"])
    """Release of the kernel."""
    machine: Line = Field(default="", examples=["x86_64"])
    """Kind of the processor."""
    interpreter: Interpreter | None = None
    """The Python that the command names, else the one of the environment; null without any."""
    packages: Annotated[Lines, Field(max_length=MAX_PACKAGES)] = Field(
        default={}, examples=[{"torch": "2.9.1", "numpy": "2.3.5"}]
    )
    """The versions of that interpreter's packages, by name."""
    modules: Annotated[list[Line], Field(max_length=MAX_MODULES)] = Field(default=[], examples=[["cuda/12.4"]])
    """Loaded environment modules, in the order of loading."""
    container: ContainerImage | None = None
    """The container; null without one."""
    driver: Line | None = Field(default=None, examples=["550.54.15"])
    """Version of the NVIDIA driver; null without one."""
    gpus: Annotated[list[Line], Field(max_length=MAX_GPUS)] = Field(default=[], examples=[["NVIDIA H100"]])
    """Names of the host's GPUs."""
    variables: Annotated[Lines, Field(max_length=MAX_VARIABLES)] = Field(
        default={}, examples=[{"OMP_NUM_THREADS": "4"}]
    )
    """Environment variables, without those that look like secrets."""


_READER: TypeAdapter[EnvironmentRecord] = TypeAdapter(EnvironmentRecord)


def read_environment(folder: Path, attempt: int) -> EnvironmentRecord | None:
    """Return the environment of an attempt, None without a readable record. May raise OSError."""
    try:
        text = untrusted_file.read_file(folder, f"attempts/{attempt}.environment.json", MAX_BYTES)
        return read_record(_READER, text)
    except (FileNotFoundError, untrusted_file.UnreadableFileError, ValueError):
        return None

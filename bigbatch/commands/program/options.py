"""The options of `bigbatch run`."""

from enum import StrEnum
from typing import Annotated

import typer


class Goal(StrEnum):
    """The goals of an objective."""

    MIN = "min"
    MAX = "max"


class Which(StrEnum):
    """The values of an objective."""

    BEST = "best"
    LAST = "last"


Words = Annotated[
    list[str],
    typer.Argument(metavar="COMMAND...", help="The program after --; a single word with spaces is a line for bash."),
]
Name = Annotated[str | None, typer.Option(help="Name of the experiment; default: the command.")]
Project = Annotated[str | None, typer.Option(help="Project of the experiment.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag of the experiment; may be repeated.")]
Description = Annotated[str | None, typer.Option(help="What the experiment is for.")]
Partition = Annotated[str | None, typer.Option(help="Slurm partition; without it the runs are on the service's host.")]
Slurm = Annotated[bool, typer.Option("--slurm", help="Use Slurm's default partition.")]
Nodes = Annotated[int, typer.Option(min=1, help="Number of nodes.")]
Ranks = Annotated[int, typer.Option(min=1, help="Number of ranks on each node.")]
Cpus = Annotated[int | None, typer.Option(min=1, help="Number of cpus of each rank.")]
Gpus = Annotated[int | None, typer.Option(min=1, help="Number of GPUs of each rank.")]
Minutes = Annotated[int | None, typer.Option(min=1, help="Time limit of each attempt, in minutes.")]
Memory = Annotated[int | None, typer.Option(min=1, help="Memory per node, in GiB.")]
Account = Annotated[str | None, typer.Option(help="Slurm account.")]
Qos = Annotated[str | None, typer.Option(help="Slurm quality of service.")]
Sbatch = Annotated[list[str] | None, typer.Option("--sbatch", metavar="NAME=VALUE", help="A further sbatch option.")]
Launcher = Annotated[str, typer.Option(help="srun, torchrun, mpirun or plain.")]
Venv = Annotated[str | None, typer.Option(help="Python virtual environment; default: the active one.")]
Conda = Annotated[str | None, typer.Option(help="Conda environment.")]
Modules = Annotated[list[str] | None, typer.Option("--module", help="Environment module; may be repeated.")]
Image = Annotated[str | None, typer.Option("--container", help="Image of an Apptainer container.")]
Setup = Annotated[list[str] | None, typer.Option(help="Line of bash before the start; may be repeated.")]
Variables = Annotated[list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="Environment variable.")]
Sweep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUES",
        help="Values of a parameter: lr=0.1,0.2 or layers=[1,2],[3,4]; quotes make a text; may be repeated.",
    ),
]
Metric = Annotated[
    list[str] | None, typer.Option(help="Regular expression of output lines with metrics, as step (?P<step>\\d+).")
]
ObjectiveMetric = Annotated[
    str | None, typer.Option("--objective", metavar="METRIC", help="The metric that counts, as val_loss.")
]
ObjectiveGoal = Annotated[
    Goal | None, typer.Option(help="Whether the least or the greatest value of --objective is best.")
]
ObjectiveValue = Annotated[
    Which | None, typer.Option("--objective-value", help="Which value of --objective is a run's: best or last.")
]
Steps = Annotated[int, typer.Option(min=0, help="Number of steps of a run, for its progress; 0: unknown.")]
Follow = Annotated[bool, typer.Option("--follow", help="Show progress until all runs have ended.")]
Force = Annotated[bool, typer.Option("--force", help="Submit also if the service sees that a run cannot start.")]
NoSnapshot = Annotated[
    bool, typer.Option("--no-snapshot", help="Run the files of this folder as they are when a job starts.")
]
Print = Annotated[bool, typer.Option("--print", help="Print the experiment as YAML, and submit nothing.")]

"""The spec of a run of the user's own program."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from agent.program.placeholders import check_line, flatten, names_in, names_in_line
from contract.spec.artifacts.inputs import Inputs, check_inputs
from contract.spec.artifacts.outputs import Outputs, check_outputs
from contract.spec.artifacts.retention import AllOutputs, OutputRetention
from contract.spec.artifacts.reuse import check_reuse, obstacle_of_program
from contract.spec.base_run import BaseRun, CodeStart
from contract.spec.checks.program_files import check_files, first_word
from contract.spec.dedup.dedup import Dedup, describe_dedup
from contract.spec.numbers import Positive
from contract.spec.program.environment import AbsolutePath, Environment, check_environment
from contract.spec.program.metrics import MetricSources
from contract.spec.program.section import complete_program
from contract.spec.resources import Local, Resources, check_resources
from contract.spec.retry import RetryPolicy, check_growth
from contract.spec.volume.volume import Volume, describe_volume
from contract.validation import ValidationIssue, validation_error

Launcher = Literal["srun", "torchrun", "mpirun", "plain"]
Word = Annotated[str, Field(pattern=r"^[^\x00]*$", max_length=100_000)]
ParameterName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]
MAX_WORDS, MAX_PARAMETERS = 10_000, 1_000
# placeholders that are always there
FILES = ("parameters_json", "parameters_yaml", "run_folder", "checkpoint_folder", "job_python")


class ProgramSpec(BaseRun):
    """A complete run of a program: a command, its launcher, its environment and its parameters."""

    kind: Literal["program"] = "program"
    command: (
        Annotated[str, Field(min_length=1, max_length=100_000, pattern=r"^[^\x00]*\S[^\x00]*$")]
        | Annotated[list[Word], Field(min_length=1, max_length=MAX_WORDS)]
    ) = Field(examples=["python train.py --lr {lr}", ["python", "train.py", "--lr", "{lr}"]])
    """The command of each rank: a text is a line for bash, a list is a program with its arguments. `{lr}` stands for
    the parameter `lr`; `{parameters_json}`, `{parameters_yaml}`, `{run_folder}` and `{checkpoint_folder}` stand for
    paths, `{job_python}` for the Python that runs the agent: the service's on its host, on Slurm BIGBATCH_SLURM_PYTHON
    or python3. With `dedup` or `volume` it may be left out, and becomes the command that carries the section out."""
    launcher: Launcher = "srun"
    """How the ranks start: `srun`: one process for each rank; `torchrun`: torchrun on each node, which starts the
    node's ranks; `mpirun`: mpirun on the first node; `plain`: one process on the first node, the default with
    `dedup`."""
    # absent where it is null, so that runs from before the field have the document and the key that they had
    rank_variables: bool | None = Field(default=None, exclude_if=lambda value: value is None, examples=[False])
    """Whether the ranks have RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, NODE_RANK, MASTER_ADDR and MASTER_PORT;
    null: yes, except with `plain`, which starts one process as by hand. torchrun sets its own."""
    resources: Resources = Local()
    """The cluster, and the nodes, cpus and devices of each job."""
    environment: Environment = Environment()
    """What is set up before the ranks start."""
    working_folder: AbsolutePath | None = Field(default=None, examples=["/home/ann/project"])
    """Folder in which the ranks start; null: `work` in the run's folder, a copy of the code snapshot, or without a
    snapshot the run's folder."""
    code: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(default=None, examples=["5e88" * 16])
    """Hash of the code snapshot that every attempt runs; null: the files as they are when the job starts."""
    subfolder: Annotated[str, Field(pattern=r"^[^/\x00-\x1f\x7f][^\x00-\x1f\x7f]*$", max_length=4096)] | None = Field(
        default=None, examples=["experiments/lars"]
    )
    """Folder inside the code snapshot in which the ranks start; null: its top folder."""
    parameters: Annotated[dict[ParameterName, Any], Field(max_length=MAX_PARAMETERS)] = Field(
        default={}, examples=[{"lr": 0.1, "optimizer": "lars"}]
    )
    """Parameters of the program, which axes vary: as placeholders of the command, in the files parameters.json and
    parameters.yaml of the run's folder, and with `parameter_prefix` as environment variables."""
    parameter_prefix: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)] | None = Field(
        default=None, examples=["PARAM_"]
    )
    """Prefix of environment variables with the parameters: `PARAM_` gives PARAM_LR for `lr`; null: no variables."""
    metrics: MetricSources | None = Field(default=None, examples=[[{"kind": "tensorboard"}]])
    """Files from which the agent reads metrics while they grow, besides what `bigbatch.log` writes; null: TensorBoard's
    event files in the run's folder, if there are any; an empty list: none."""
    steps: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    """Number of steps of the whole run, for its progress; 0: unknown."""
    time_split: bool = True
    """Whether Python programs with torch measure the split of each step into compute, communication and input."""
    stall_minutes: Positive | None = 10.0
    """Minutes without progress of a rank after which the run fails and names the rank; null: no limit. Only programs
    that report progress (by torch or by `bigbatch.log`) can stall."""
    system_metrics_s: Annotated[float, Field(ge=0, le=3600)] = 15.0
    """Seconds between two measurements of each node's processors, memory, disks, network and GPUs; 0: none."""
    retries: RetryPolicy = RetryPolicy()
    """How often a run is retried after each exit cause."""
    volume: Volume | None = None
    """Inference over a volume, whose chunks the ranks share; its command is `python -m trainers.volume`; null: none."""
    # absent where it is null, so that runs from before the field have the document and the key that they had
    dedup: Dedup | None = Field(default=None, exclude_if=lambda value: value is None)
    """A search for near-duplicate images by one rank; its command is `python -m trainers.data.dedup`; null: none."""
    inputs: Inputs = Field(default={}, examples=[{"data": "/data/train.tsv"}])
    """Files and folders that the program reads, by name: `{inputs.data}` in the command stands for the path. Their
    contents count when the service compares this run with finished ones."""
    outputs: Outputs = Field(default={}, examples=[{"model": "model.pt"}])
    """Files and folders that the program writes into the run's folder, by name: `{outputs.model}` in the command stands
    for the path. They are hashed at the end of the run and listed as artifacts; the run fails without them. With
    `dedup` the default is `list`, `kept`, `report` and `groups`, the files of its result."""
    keep: OutputRetention = AllOutputs()
    """How long the outputs remain."""
    reuse: bool = False
    """Whether the run takes the result of a finished run with an equal spec, equal code and equal inputs, if there is
    one, in place of being carried out; needs `code`."""

    @property
    def snapshot(self) -> str | None:
        """The hash of the code snapshot that the run needs; None: it needs none."""
        return self.code

    @property
    def code_start(self) -> CodeStart | None:
        """How the command starts in the code snapshot; None without one."""
        return CodeStart(self.code, self.subfolder or "", self._program_in_code()) if self.code else None

    @property
    def computing_code(self) -> str | None:
        """The hash of the code that decides what the run computes; None: it is not known."""
        return self.code

    @property
    def names_own_metrics(self) -> bool:
        """Whether the program names all metrics: it does."""
        return True

    @property
    def needs_tools(self) -> bool:
        """Whether the agent carries the run out: it does."""
        return True

    @property
    def script_parts(self) -> list[Any]:
        """What a batch script depends on besides the resources: how the ranks start, and what the container sees."""
        container = self.environment.container
        return [self.launcher, [self.working_folder, container.model_dump(mode="json")] if container else []]

    @property
    def sharing_obstacle(self) -> str | None:
        """Why the run cannot share a job with others, its resources aside; None if it can."""
        why = "mpirun starts processes in the whole job, so a run with mpirun cannot share a job: use the launcher srun"
        return why if self.launcher == "mpirun" else None

    @property
    def tasks(self) -> tuple[int, int]:
        """The number of nodes on which a launcher starts, and of processes that it starts on each of them."""
        return {
            "srun": (self.resources.nodes, self.resources.node_ranks),
            "torchrun": (self.resources.nodes, 1),
            "mpirun": (1, 1),
            "plain": (1, 1),
        }[self.launcher]

    @property
    def reuse_obstacle(self) -> str | None:
        """Why another run with an equal spec may compute something else; None if it computes the same."""
        return obstacle_of_program(self.code, self.dedup.images if self.dedup else None, self.inputs)

    def describe_work(self) -> str:
        """Return the launcher of the program, and the work of its section."""
        program = f"a program by {self.launcher}"
        if self.dedup:
            return f"{program}: {describe_dedup(self.dedup)}"
        return f"{program}: {describe_volume(self.volume)}" if self.volume else program

    def file_issues(self, runs_folder: Path) -> Iterator[ValidationIssue]:
        """Yield an issue for each file that the program needs and that is not there, as this host sees it."""
        yield from check_files(self, runs_folder)

    def _program_in_code(self) -> str:
        """Return the relative path of the program that the command starts; empty if it is not one of the snapshot."""
        is_made_later = bool(self.environment.setup)  # lines that may build the program
        is_elsewhere = bool(self.working_folder or self.environment.container)
        program = "" if is_made_later or is_elsewhere else first_word(self) or ""
        return "" if program.startswith("/") or "/" not in program else program

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema, in which the command may be absent: a section fills it in."""
        schema = handler(core)
        fields = handler.resolve_ref_schema(schema)
        fields["required"] = [name for name in fields.get("required", []) if name != "command"]
        if not fields["required"]:
            del fields["required"]
        return schema

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, document: Any) -> Any:
        return complete_program(document)

    @model_validator(mode="after")
    def _check_whole_run(self) -> Self:
        if issues := list(self._issues()):
            raise validation_error(issues)
        return self

    def _issues(self) -> Iterator[ValidationIssue]:
        yield from self._command_issues()
        for issue in check_environment(self.environment):
            yield ValidationIssue(path=f"environment.{issue.path}", message=issue.message)
        yield from self._folder_issues()
        yield from check_inputs(self.inputs)
        yield from check_outputs(self.outputs)
        yield from check_reuse(wanted=self.reuse, obstacle=self.reuse_obstacle)
        yield from self._section_issues()
        yield from self._source_issues()
        need = self.resources
        if self.launcher == "plain" and need.world > 1 and not self.dedup:
            message = f"the launcher plain starts one process, but the resources have {need.world} ranks"
            yield ValidationIssue(path="launcher", message=message)
        yield from check_growth(self.retries, need)
        for issue in check_resources(need):
            yield ValidationIssue(path=f"resources.{issue.path}", message=issue.message)
        if isinstance(need, Local) and self.environment.container and self.environment.container.kind == "pyxis":
            yield ValidationIssue(path="environment.container.kind", message="pyxis needs Slurm; use apptainer")

    def _source_issues(self) -> Iterator[ValidationIssue]:
        last = (1 if self.launcher == "plain" else self.resources.world) - 1
        for number, source in enumerate(self.metrics or ()):
            if source.kind == "output" and type(source.rank) is int and source.rank > last:
                which = f"the ranks are 0 to {last}" if last else "the only rank is 0"
                message = f"there is no rank {source.rank}: {which}"
                yield ValidationIssue(path=f"metrics.{number}.rank", message=message)

    def _section_issues(self) -> Iterator[ValidationIssue]:
        if self.dedup and self.volume:
            message = "a run carries out either `dedup` or `volume`: give each a run or a step of its own"
            yield ValidationIssue(path="volume", message=message)
        need = self.resources
        if self.dedup and need.world > 1:
            field = "nodes" if need.nodes > 1 else "ranks_per_node" if need.ranks_per_node > 1 else "many_core"
            message = f"`dedup` is the work of one rank with many cpus, and the resources have {need.world} ranks"
            yield ValidationIssue(path=f"resources.{field}", message=message)

    def _command_issues(self) -> Iterator[ValidationIssue]:
        files = [*(f"inputs.{name}" for name in self.inputs), *(f"outputs.{name}" for name in self.outputs)]
        known = [*flatten(self.parameters), *FILES, *files]
        if isinstance(self.command, str):
            names = list(names_in_line(self.command))
            values = {**dict.fromkeys(known, ""), **flatten(self.parameters)}
            for message in check_line(self.command, values):
                yield ValidationIssue(path="command", message=message)
        else:
            names = [name for word in self.command for name in names_in(word)]
            if not self.command[0].strip():
                yield ValidationIssue(path="command", message="the first word is empty")
        unknown = [name for name in dict.fromkeys(names) if name not in known]
        for name in unknown:
            parameters = f"the parameters are {', '.join(known)}"
            message = f"{{{name}}} is no parameter; {parameters}; write {{{{{name}}}}} for the text itself"
            yield ValidationIssue(path="command", message=message)
        of_files = [*FILES, *(["inputs"] if self.inputs else []), *(["outputs"] if self.outputs else [])]
        for name in of_files:
            if name in self.parameters:
                message = f"the placeholder {{{name}}} stands for a path of the run: choose another name"
                yield ValidationIssue(path=f"parameters.{name}", message=message)

    def _folder_issues(self) -> Iterator[ValidationIssue]:
        if self.code and self.working_folder:
            message = "the code snapshot decides the working folder: remove `code` or `working_folder`"
            yield ValidationIssue(path="working_folder", message=message)
        if self.subfolder and not self.code:
            yield ValidationIssue(path="subfolder", message="a folder inside a code snapshot needs `code`")
        if self.subfolder and ".." in self.subfolder.split("/"):
            yield ValidationIssue(path="subfolder", message="'..' leaves the code snapshot")

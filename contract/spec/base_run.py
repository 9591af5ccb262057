"""What the service asks of every run, whatever carries it out.

Each kind of run has a class, `RunSpec` or `ProgramSpec`, which answers what the service wants to know of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from contract.spec.base import Spec
from contract.spec.checkpoint import InitialWeights
from contract.spec.checks.memory import ReplicaMemory
from contract.spec.choices.imported import Imported
from contract.validation import ValidationIssue


class CodeStart(NamedTuple):
    """How a run starts in a code snapshot."""

    snapshot: str
    folder: str  # in the snapshot; empty: its top
    program: str  # its path below that folder; empty: it is not in the snapshot


class BaseRun(Spec, ABC):
    """The answers of a run that has nothing of the kind; a question without such an answer is abstract."""

    @property
    def snapshot(self) -> str | None:
        """The hash of the code snapshot that the run needs; None: it needs none."""
        return None

    @property
    def code_start(self) -> CodeStart | None:
        """How the run starts in its code snapshot; None: it needs none."""
        return None

    @property
    @abstractmethod
    def computing_code(self) -> str | None:
        """The hash of the code that decides what the run computes; None: it is not known."""

    @property
    def imports(self) -> dict[str, Imported]:
        """The user's own parts that the engine imports, by their paths."""
        return {}

    @property
    def weights_source(self) -> InitialWeights | None:
        """The run whose weights this one starts from; None: it starts from none."""
        return None

    @property
    def total_epochs(self) -> int | None:
        """The number of passes over the training data; None: the service does not know it."""
        return None

    @property
    @abstractmethod
    def names_own_metrics(self) -> bool:
        """Whether the user's program names all metrics, and not the engine."""

    @property
    @abstractmethod
    def needs_tools(self) -> bool:
        """Whether the agent carries the run out, by the tools on the file system of the run folders."""

    @property
    def survives_workers(self) -> bool:
        """Whether the run goes on when a rank other than rank 0 is lost."""
        return False

    @property
    def replica(self) -> ReplicaMemory | None:
        """The memory of each replica; None: it is not known."""
        return None

    @property
    def script_parts(self) -> list[Any]:
        """What a batch script depends on besides the resources."""
        return []

    @property
    def sharing_obstacle(self) -> str | None:
        """Why the run cannot share a job with others, its resources aside; None if it can."""
        return None

    @abstractmethod
    def describe_work(self) -> str:
        """Return in a few words what the run does."""

    def new_run_issues(self) -> Iterator[ValidationIssue]:
        """Yield an issue for each choice that a new run may not have, although stored ones have it."""
        yield from ()

    def file_issues(self, runs_folder: Path) -> Iterator[ValidationIssue]:
        """Yield an issue for each file that the run needs and that is not there, as this host sees it."""
        yield from ()

    def input_warning(self) -> ValidationIssue | None:
        """Return why the input will limit the run; None if nothing says so."""
        return None

    def extension_issues(self, epochs: int) -> Iterator[ValidationIssue]:
        """Yield an issue for each reason why the run, when it is done, cannot go on to `epochs` epochs."""
        message = "only a run of the engine has epochs of which the service knows: clone the run with other parameters"
        yield ValidationIssue(path="epochs", message=message)

    def new_data_fields(self) -> dict[str, Any] | None:
        """Return the fields with which the run goes on with other data than its checkpoints had; None: as they are."""
        return None

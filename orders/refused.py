"""A refusal: why an experiment, further points or further epochs are not accepted."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from contract.validation import ValidationIssue


class Kind(StrEnum):
    """Why a request is refused."""

    INVALID = "invalid"  # a field is wrong, or the service cannot carry it out
    ABSENT = "absent"  # an experiment or a run that the request is about does not exist
    CONFLICT = "conflict"  # another request, or what is stored, stands against it


@dataclass(frozen=True)
class Refused:
    """The answer in place of what was asked for. The caller rolls its transaction back, or writes nothing of it."""

    message: str
    issues: Sequence[ValidationIssue] = ()  # of the fields that are wrong
    kind: Kind = Kind.INVALID
    is_forceable: bool = False  # whether `force` lets it pass

    @property
    def reason(self) -> str:
        """The issues in one line; the message where there are none."""
        return "; ".join(f"{issue.path}: {issue.message}" for issue in self.issues) or self.message


def no_experiment(experiment_id: int) -> Refused:
    """Return the refusal of a request about an experiment that does not exist."""
    return Refused(f"there is no experiment {experiment_id}", kind=Kind.ABSENT)


def conflict(message: str) -> Refused:
    """Return the refusal of a request that something stands against."""
    return Refused(message, kind=Kind.CONFLICT)


def invalid(message: str, path: str, why: str) -> Refused:
    """Return the refusal for one wrong field."""
    return Refused(message, [ValidationIssue(path=path, message=why)])

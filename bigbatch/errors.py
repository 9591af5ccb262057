"""What can go wrong, each told in one sentence and, for documents, one line per field."""

from collections.abc import Sequence

from contract.api.responses import Problem
from contract.validation import Fault


class BigbatchError(Exception):
    """A failure that its own words explain; the command ends with `exit_code`."""

    exit_code = 1


class Unreachable(BigbatchError):
    """The service does not answer."""


class DocumentRefused(BigbatchError):
    """A document at fault, found before it was sent."""

    exit_code = 2

    def __init__(self, message: str, fields: Sequence[Fault]) -> None:
        super().__init__(_told(message, fields))
        self.fields = list(fields)


class ApiError(BigbatchError):
    """An answer of the service that is an error."""

    def __init__(self, status: int, problem: Problem) -> None:
        super().__init__(_told(problem.message, problem.fields))
        self.status, self.problem = status, problem
        self.exit_code = 2 if status in (400, 413, 415, 422) else 1


def _told(message: str, fields: Sequence[Fault]) -> str:
    return "\n".join([message, *(f"{fault.path or 'document'}: {fault.message}" for fault in fields)])

"""The errors of the client and the command, with one-line messages, plus one line per wrong field."""

from collections.abc import Sequence

from contract.api.problem import Problem
from contract.validation import ValidationIssue


class BigbatchError(Exception):
    """An error whose message explains it; the command ends with `exit_code`."""

    exit_code = 1


class Unreachable(BigbatchError):
    """The service does not answer."""


class DocumentRefused(BigbatchError):
    """The document is not valid; found before it was sent."""

    exit_code = 2

    def __init__(self, message: str, fields: Sequence[ValidationIssue]) -> None:
        super().__init__(_message(message, fields))
        self.fields = list(fields)


class ApiError(BigbatchError):
    """The service answered with an error."""

    def __init__(self, status: int, problem: Problem) -> None:
        super().__init__(_message(problem.detail, problem.errors))
        self.status, self.problem = status, problem
        self.exit_code = 2 if status in (400, 413, 415, 422) else 1


def _message(message: str, fields: Sequence[ValidationIssue]) -> str:
    return "\n".join([message, *(f"{issue.path or 'document'}: {issue.message}" for issue in fields)])

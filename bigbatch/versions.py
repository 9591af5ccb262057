"""A call that the service does not know: of which versions the service and this command are, and which to upgrade."""

import re
from collections.abc import Sequence
from importlib.metadata import version

from contract.api.problem import Problem
from contract.validation import ValidationIssue

# what a service says of a parameter, a field or a choice that its version lacks
NEWER_PARTS = ("the operation has no such parameter", "unknown field", "unknown kind")


def is_unknown_call(problem: Problem) -> bool:
    """Return whether the service lacks the operation: its path, its method, or the word in the place of an id."""
    match problem.status:
        case 405:
            return True
        case 404:
            return problem.detail == "Not Found"
        case 422:  # earlier services take /runs/word for the run with the id "word"
            return any(issue.path.endswith("_id") and "valid integer" in issue.message for issue in problem.errors)
    return False


def has_unknown_part(errors: Sequence[ValidationIssue]) -> bool:
    """Return whether a later version may know a field or a parameter that the service refuses."""
    return any(issue.message.startswith(NEWER_PARTS) for issue in errors)


def with_versions(problem: Problem, service: str, address: str) -> Problem:
    """Return the problem with both versions in it, and what to upgrade."""
    own, remedy = version("bigbatch"), _remedy(service)
    if not is_unknown_call(problem):
        differ = f"the service has version {service} and this command {own}; if it should know this: {remedy}"
        return problem.model_copy(update={"detail": f"{problem.detail} ({differ})"})
    detail = f"the service at {address} has version {service} and does not know this call of version {own}: {remedy}"
    return problem.model_copy(update={"detail": detail, "errors": []})


def unread_answer(service: str, address: str) -> str:
    """Return that this command cannot read an answer of a service of another version."""
    own = version("bigbatch")
    return f"the service at {address} has version {service}, and this command {own} cannot read it: {_remedy(service)}"


def _remedy(service: str) -> str:
    older = "upgrade the service, or " if _numbers(service) < _numbers(version("bigbatch")) else ""
    return f"{older}install bigbatch=={service} for this command"


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]

"""The response of every error, a problem document (RFC 9457), shared with the dashboard and the Python client."""

from pydantic import BaseModel

from contract.validation import ValidationIssue


class Problem(BaseModel):
    """An error: a code for programs, a message for people, and the wrong fields."""

    type: str
    title: str
    status: int
    detail: str
    instance: str = ""
    code: str
    errors: list[ValidationIssue] = []

"""The response of every error, a problem document (RFC 9457), shared with the dashboard and the Python client."""

from pydantic import Field

from contract.described_model import DescribedModel
from contract.validation import ValidationIssue


class Problem(DescribedModel):
    """An error: a code for programs, a message for people, and the wrong fields."""

    type: str = Field(examples=["urn:bigbatch:problem:invalid"])
    """The code as a URN."""
    title: str = Field(examples=["Unprocessable Entity"])
    """The phrase of the HTTP status."""
    status: int = Field(examples=[422])
    """The HTTP status."""
    detail: str = Field(examples=["the experiment does not hold together"])
    """What is wrong, as a sentence."""
    instance: str = Field(default="", examples=["/api/v1/experiments"])
    """The path of the request."""
    code: str = Field(examples=["invalid"])
    """The kind of error, for programs."""
    errors: list[ValidationIssue] = []
    """The wrong fields, at most 100; empty if the error is not about fields."""

"""Validation issues of a document: for each wrong field its path and a message."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field, ValidationError
from pydantic_core import PydanticCustomError

from contract.described_model import DescribedModel
from contract.pattern_words import pattern_words

# pydantic adds the tag of a tagged union to an error's location: ("optimizer", "lars", "momentum").
# The document has optimizer.momentum, so the location part after one of these fields is removed.
TAGGED_FIELDS = frozenset(
    {
        *("base", "model", "data", "optimizer", "schedule", "loss", "augmentation", "rule", "collective", "resources"),
        *("sampler", "early_stopping"),
    }
)
TAGGED_LISTS = frozenset({"metrics", "operators"})  # lists of such unions: the tag comes after the index
SPACE = ("search", "space")  # such unions by name: the tag comes after the name

PLAIN_MESSAGES = {
    "extra_forbidden": "unknown field",
    "missing": "required field",
    "model_type": "expected an object of fields and values",
    "model_attributes_type": "expected an object of fields and values",
    "union_tag_not_found": "expected an object with a field 'kind'",
}


def _is_none(value: object) -> bool:
    return value is None


class ValidationIssue(DescribedModel):
    """One wrong field: its dotted path and the reason, with the calculation if there is one."""

    path: str = Field(examples=["base.batch"])
    """Dotted path of the field in the document, or the name of the parameter; empty for the whole document."""
    message: str = Field(examples=["batch 7 does not divide over 4 ranks"])
    """Why the value is not valid, with the calculation if there is one."""
    start: int | None = Field(default=None, examples=[17], exclude_if=_is_none)
    """Index of the first wrong character of a parameter that is a query; absent for other values."""
    end: int | None = Field(default=None, examples=[22], exclude_if=_is_none)
    """Index behind the last wrong character; equal to `start` where something is missing."""


def validation_error(issues: Sequence[ValidationIssue]) -> PydanticCustomError:
    """Return the one error by which a pydantic validator reports several issues; `issues_of` reads them back."""
    text = "; ".join(f"{issue.path}: {issue.message}" for issue in issues)
    details = {"text": text, "issues": [issue.model_dump() for issue in issues]}
    return PydanticCustomError("invalid_spec", "{text}", details)


def issues_of(error: ValidationError, *, has_tags: bool = True) -> list[ValidationIssue]:
    """Return the issues of a validation error, with paths as in the document.

    `has_tags`: the document has tagged unions; in other documents any name may be one of TAGGED_FIELDS.
    """
    details = [dict(detail) for detail in error.errors(include_url=False, include_input=False)]
    return issues_from_details(details, has_tags=has_tags)


def issues_from_details(details: Iterable[Mapping[str, Any]], *, has_tags: bool = True) -> list[ValidationIssue]:
    """Return the issues in pydantic's error details, which are all that FastAPI passes on."""
    found = []
    for detail in details:
        location = _without_tags(detail["loc"]) if has_tags else [str(part) for part in detail["loc"]]
        nested: list[dict[str, Any]] = detail.get("ctx", {}).get("issues", [])
        if nested:
            found += [
                ValidationIssue(path=_dotted([*location, issue["path"]]), message=issue["message"]) for issue in nested
            ]
        elif detail["type"] == "union_tag_invalid":
            message = f"unknown kind '{detail['ctx']['tag']}'; the kinds are {detail['ctx']['expected_tags']}"
            found.append(ValidationIssue(path=_dotted(location), message=message))
        else:
            is_pattern = detail["type"] == "string_pattern_mismatch"
            plain = PLAIN_MESSAGES.get(detail["type"], detail["msg"])
            message = pattern_words(detail["ctx"]["pattern"]) if is_pattern else plain
            found.append(ValidationIssue(path=_dotted(location), message=message[:1].lower() + message[1:]))
    return found


def _without_tags(location: Sequence[int | str]) -> list[str]:
    return [str(part) for index, part in enumerate(location) if not _is_tag(location, index)]


def _is_tag(location: Sequence[int | str], index: int) -> bool:
    if index and location[index - 1] in TAGGED_FIELDS:
        return True
    if index > 2 and (location[index - 3], location[index - 2]) == SPACE:
        return True
    return index > 1 and location[index - 2] in TAGGED_LISTS and isinstance(location[index - 1], int)


def _dotted(location: Iterable[str]) -> str:
    return ".".join(part for part in location if part)

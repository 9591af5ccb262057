"""What is wrong with a document, field by field, in words that name the field and the sum."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

# A choice is a tagged union, and pydantic puts the tag into an error's location ("optimizer", "lars", "momentum").
# The user wrote optimizer.momentum, so the part that follows one of these names is left out.
CHOICES = frozenset({"model", "data", "optimizer", "schedule", "rule", "collective", "resources"})

PLAINER = {
    "extra_forbidden": "there is no such field",
    "missing": "this field is needed",
    "model_type": "an object of fields and values belongs here",
    "model_attributes_type": "an object of fields and values belongs here",
    "union_tag_not_found": "an object with a field 'kind' belongs here",
}


class Fault(BaseModel):
    """One thing that is wrong: the field's dotted path and the reason, with the sum where there is one."""

    path: str
    message: str


def refusal(faults: Sequence[Fault]) -> PydanticCustomError:
    """Wrap several faults into the one error that a validator may raise; `faults_of` unwraps them."""
    text = "; ".join(f"{fault.path}: {fault.message}" for fault in faults)
    return PydanticCustomError("misfit", "{text}", {"text": text, "faults": [fault.model_dump() for fault in faults]})


def faults_of(error: ValidationError) -> list[Fault]:
    """List the faults behind a validation error, their paths as the user wrote them."""
    return faults_in([dict(detail) for detail in error.errors(include_url=False, include_input=False)])


def faults_in(details: Iterable[Mapping[str, Any]]) -> list[Fault]:
    """List the faults in pydantic's error details (FastAPI hands on these alone)."""
    found = []
    for detail in details:
        place = _written(detail["loc"])
        nested: list[dict[str, Any]] = detail.get("ctx", {}).get("faults", [])
        if nested:
            found += [Fault(path=_dotted([*place, fault["path"]]), message=fault["message"]) for fault in nested]
        else:
            message = PLAINER.get(detail["type"], detail["msg"])
            found.append(Fault(path=_dotted(place), message=message[:1].lower() + message[1:]))
    return found


def _written(place: Sequence[int | str]) -> list[str]:
    """The location without the tags of unions."""
    return [str(part) for number, part in enumerate(place) if not (number and place[number - 1] in CHOICES)]


def _dotted(place: Iterable[str]) -> str:
    return ".".join(part for part in place if part)

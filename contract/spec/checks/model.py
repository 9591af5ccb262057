"""Checks of a model against the data set."""

import keyword
from collections.abc import Iterator
from importlib.util import find_spec

from contract.spec.choices.data import Data, Sentences
from contract.spec.choices.models import GNMT, Import, Model
from contract.validation import ValidationIssue

RESERVED_OPTIONS = (
    "channels",
    "classes",
    "vocabulary",
    "padding",
)  # arguments that every imported model function gets from the data set


def check_model(model: Model, data: Data) -> Iterator[ValidationIssue]:
    """Yield an issue for each reason why `model` cannot train on `data`."""
    if isinstance(data, Sentences):
        if not isinstance(model, GNMT | Import):
            yield ValidationIssue(
                path="model", message=f"{model.kind} needs images, but {data.kind} has sentence pairs"
            )
    elif isinstance(model, GNMT):
        yield ValidationIssue(path="model", message=f"{model.kind} needs sentence pairs, but {data.kind} has images")
    elif min(data.shape[1:]) < model.smallest:
        _, height, width = data.shape
        need = f"{model.kind} needs images of at least {model.smallest} x {model.smallest} pixels"
        yield ValidationIssue(path="model", message=f"{need}; those of {data.kind} are {height} x {width}")
    if isinstance(model, Import):
        yield from _check_import(model)


def _check_import(model: Import) -> Iterator[ValidationIssue]:
    module, colon, name = model.function.partition(":")
    if not (colon and all(map(_is_name, [*module.split("."), name]))):
        message = f"{model.function!r} must have the form package.module:function"
        yield ValidationIssue(path="model.function", message=message)
    for option in model.options:
        if option in RESERVED_OPTIONS:
            yield ValidationIssue(
                path=f"model.options.{option}", message=f"{option} is set by the data; remove the option"
            )
        elif not _is_name(option):
            yield ValidationIssue(path="model.options", message=f"{option!r} is not a valid argument name")


def check_module(model: Model) -> ValidationIssue | None:
    """Return an issue if this process's Python has no module for an imported net; None for all other nets.

    Only the top-level name is looked up, because a lookup of a submodule executes its parents.
    """
    if not isinstance(model, Import):
        return None
    name = model.function.partition(":")[0].partition(".")[0]
    try:
        is_absent = find_spec(name) is None
    except ValueError:  # a module that was loaded without a specification, such as __main__
        is_absent = False
    if not is_absent:
        return None
    return ValidationIssue(path="model.function", message=f"the service's Python has no module {name!r}")


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)

"""Does a net fit the data?"""

import keyword
from collections.abc import Iterator

from contract.spec.choices.data import Data, Sentences
from contract.spec.choices.models import GNMT, Import, Model
from contract.validation import Fault

GIVEN = ("channels", "classes", "vocabulary", "padding")  # what the function of a user's own net is told about the data


def misfits(model: Model, data: Data) -> Iterator[Fault]:
    """What keeps `model` from training on `data`, with the sum."""
    if isinstance(data, Sentences):
        if not isinstance(model, GNMT | Import):
            yield Fault(path="model", message=f"{model.kind} takes images, and {data.kind} has sentence pairs")
    elif isinstance(model, GNMT):
        yield Fault(path="model", message=f"{model.kind} translates sentence pairs, and {data.kind} has images")
    elif min(data.shape[1:]) < model.smallest:
        _, height, width = data.shape
        need = f"{model.kind} needs images of at least {model.smallest} x {model.smallest} pixels"
        yield Fault(path="model", message=f"{need}; those of {data.kind} are {height} x {width}")
    if isinstance(model, Import):
        yield from _import_misfits(model)


def _import_misfits(model: Import) -> Iterator[Fault]:
    place, colon, name = model.function.partition(":")
    if not (colon and all(map(_is_name, [*place.split("."), name]))):
        message = f"{model.function!r} is not of the form package.module:function"
        yield Fault(path="model.function", message=message)
    for option in model.options:
        if option in GIVEN:
            yield Fault(path=f"model.options.{option}", message=f"{option} comes from the data, not from the options")
        elif not _is_name(option):
            yield Fault(path="model.options", message=f"{option!r} cannot be the name of an argument")


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)

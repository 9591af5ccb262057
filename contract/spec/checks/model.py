"""Checks of a model against the data set."""

from collections.abc import Iterator

from contract.spec.choices.data import Data, Sentences
from contract.spec.choices.models import GNMT, Import, Model
from contract.validation import ValidationIssue


def check_model(model: Model, data: Data) -> Iterator[ValidationIssue]:
    """Yield an issue for each reason why `model` cannot train on `data`."""
    if isinstance(data, Sentences):
        if not isinstance(model, GNMT | Import):
            yield ValidationIssue(
                path="model", message=f"{model.kind} needs images, but {data.kind} has sentence pairs"
            )
    elif isinstance(model, GNMT):
        yield ValidationIssue(path="model", message=f"{model.kind} needs sentence pairs, but {data.kind} has images")
    elif isinstance(model, Import):
        return
    elif len(data.shape) != 3:
        message = f"{model.kind} needs images (channels, height, width); the samples have the shape {list(data.shape)}"
        yield ValidationIssue(path="model", message=message)
    elif min(data.shape[1:]) < model.smallest:
        _, height, width = data.shape
        need = f"{model.kind} needs images of at least {model.smallest} x {model.smallest} pixels"
        yield ValidationIssue(path="model", message=f"{need}; those of {data.kind} are {height} x {width}")

"""Checks of a model against the data set."""

from collections.abc import Iterator

from contract.spec.choices.data import Bodies, Data, ImportedData, Sentences, Text, Tokens
from contract.spec.choices.models import GPT, Import, Model
from contract.validation import ValidationIssue


def check_model(model: Model, data: Data) -> Iterator[ValidationIssue]:
    """Yield an issue for each reason why `model` cannot train on `data`."""
    if isinstance(model, GPT) and model.width % model.heads:
        message = f"a width of {model.width} does not divide into {model.heads} heads"
        yield ValidationIssue(path="model.heads", message=message)
    if isinstance(model, Import):
        return
    needed, present = _needed(model), _present(data)
    if needed != present:
        yield ValidationIssue(path="model", message=f"{model.kind} needs {needed}, but {data.kind} has {present}")
    elif isinstance(data, Tokens) or needed == "volumes":
        return
    elif len(data.shape) != 3:
        message = f"{model.kind} needs images (channels, height, width); the samples have the shape {list(data.shape)}"
        yield ValidationIssue(path="model", message=message)
    elif min(data.shape[1:]) < model.smallest:
        _, height, width = data.shape
        need = f"{model.kind} needs images of at least {model.smallest} x {model.smallest} pixels"
        yield ValidationIssue(path="model", message=f"{need}; those of {data.kind} are {height} x {width}")


def _needed(model: Model) -> str:
    return {"gnmt": "sentence pairs", "gpt": "text", "unet3d": "volumes"}.get(model.kind, "images")


def _present(data: Data) -> str:
    if isinstance(data, Sentences):
        return "sentence pairs"
    is_volume = isinstance(data, Bodies) or (isinstance(data, ImportedData) and len(data.shape) == 4)
    return "text" if isinstance(data, Text) else "volumes" if is_volume else "images"


def check_volumes(data: Data, *, channels_last: bool) -> Iterator[ValidationIssue]:
    """Yield an issue for each choice that does not go with samples that are volumes."""
    if channels_last and _present(data) == "volumes":
        yield ValidationIssue(path="channels_last", message=f"the samples of {data.kind} are volumes, and not images")

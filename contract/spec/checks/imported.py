"""Checks of the user's own parts: their form, and other choices that they do not go with."""

import keyword
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from contract import metric_names
from contract.spec.choices.augmentations import Augmentation, ImportedAugmentation
from contract.spec.choices.data import Data, ImageFiles, ImportedData, Tokens
from contract.spec.choices.imported import Imported
from contract.spec.choices.losses import CrossEntropy, Loss
from contract.spec.choices.models import Import, Model
from contract.validation import ValidationIssue

# arguments that the engine passes to the function of each part
RESERVED = {
    "model": ("channels", "classes", "shape", "vocabulary", "padding"),
    "optimizer": ("params",),
    "schedule": ("epochs",),
}
SERIES = {value for name, value in vars(metric_names).items() if name.isupper() and isinstance(value, str)}


def check_imports(imports: Mapping[str, Imported]) -> Iterator[ValidationIssue]:
    """Yield an issue for each function or option of the user's own parts that cannot be called; keys: their paths."""
    for path, part in imports.items():
        module, colon, name = part.function.partition(":")
        if not (colon and all(map(_is_name, [*module.split("."), name]))):
            message = f"{part.function!r} must have the form package.module:function"
            yield ValidationIssue(path=f"{path}.function", message=message)
        for option in part.options:
            if option in RESERVED.get(path, ()):
                by = "data" if path == "model" else "engine"
                message = f"{option} is set by the {by}; remove the option"
                yield ValidationIssue(path=f"{path}.options.{option}", message=message)
            elif not _is_name(option):
                yield ValidationIssue(path=f"{path}.options", message=f"{option!r:.80} is not a valid argument name")
        if path.startswith("metrics.") and path.removeprefix("metrics.") in SERIES:
            yield ValidationIssue(path=path, message="the engine has a series of this name; choose another name")


def check_loss(loss: Loss, data: Data, model: Model, *, label_smoothing: float) -> Iterator[ValidationIssue]:
    """Yield an issue for each choice that the loss does not go with."""
    if isinstance(loss, CrossEntropy):
        if isinstance(data, ImportedData) and data.classes is None:
            message = "without data.classes there is no cross-entropy; use a loss of your own (kind: import)"
            yield ValidationIssue(path="loss.kind", message=message)
    elif label_smoothing:
        message = "a loss of your own smooths its labels itself; remove label_smoothing"
        yield ValidationIssue(path="label_smoothing", message=message)
    if isinstance(data, ImportedData) and data.classes is None and not isinstance(model, Import):
        message = f"{model.kind} needs data.classes; without them use a model of your own (kind: import)"
        yield ValidationIssue(path="model.kind", message=message)


def check_augmentation(augmentation: Augmentation | None, data: Data) -> Iterator[ValidationIssue]:
    """Yield an issue if the data set has no images of the kind that the augmentation changes."""
    if augmentation is None:
        return
    is_own = isinstance(augmentation, ImportedAugmentation)
    field = "first" if is_own else "kind"
    name = augmentation.first if isinstance(augmentation, ImportedAugmentation) else augmentation.kind
    if name != "none" and not isinstance(data, ImageFiles):
        message = f"{name} needs an image folder, and the data set is {data.kind}; use none, or a function of your own"
        yield ValidationIssue(path=f"augmentation.{field}", message=message)
    if is_own and (isinstance(data, Tokens) or len(data.shape) != 3):
        message = f"an augmentation of your own changes images, and {data.kind} has none"
        yield ValidationIssue(path="augmentation.kind", message=message)


def check_module(path: str, part: Imported) -> ValidationIssue | None:
    """Return an issue if this process's Python has no module for the part at `path`.

    Only the top-level name is looked up, because a lookup of a submodule executes its parents.
    """
    name = part.function.partition(":")[0].partition(".")[0]
    try:
        is_absent = find_spec(name) is None
    except ValueError:  # a module that was loaded without a specification, such as __main__
        is_absent = False
    if not is_absent:
        return None
    return ValidationIssue(path=f"{path}.function", message=f"the service's Python has no module {name!r}")


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)

"""The parts of a spec: for each place in the document the models that may stand there, in the order of the fields."""

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from contract.spec.base import Spec
from contract.spec.experiment import ExperimentSpec

SEARCH = "search"
COMMON = {"", "engine", "program", "resources", "checkpoint", "retries", "notify"}  # beginnings of paths


@dataclass(frozen=True)
class Part:
    """A place in the document, such as `optimizer` of a run, and the models of its kinds."""

    path: str
    models: tuple[type[Spec], ...]

    @property
    def title(self) -> str:
        """The heading of the part."""
        return self.path or "experiment"

    @property
    def is_of_engine(self) -> bool:
        """Whether only engine runs have the part."""
        return self.path.split(".")[0].partition(" ")[0] not in COMMON

    @property
    def is_of_search(self) -> bool:
        """Whether only a search has the part."""
        return self.path.split(".")[0] == SEARCH


def find_parts() -> list[Part]:
    """Return every part once, at its first place; a part inside another one follows it."""
    found: dict[tuple[type[Spec], ...], Part] = {}
    _walk("", (ExperimentSpec,), found)
    return list(found.values())


def models_in(annotation: Any) -> tuple[type[Spec], ...]:
    """Return the models that a field's annotation contains, in lists, dictionaries and unions too."""
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        return (annotation,)
    if get_origin(annotation) in (Annotated, Union, types.UnionType, list, dict):
        return tuple(model for inner in get_args(annotation) for model in models_in(inner))
    return ()


def _walk(path: str, models: tuple[type[Spec], ...], found: dict[tuple[type[Spec], ...], Part]) -> None:
    if models in found:
        return
    if path == "base":  # an engine run and a program run have a part each
        for model in models:
            kind = model.model_fields["kind"].default
            # the parts of an engine run are the ones that users know by their short paths
            _add(Part(f"{kind} run", (model,)), "" if kind == "engine" else f"{kind}.", found)
    else:
        _add(Part(path, models), f"{path}." if path else "", found)


def _add(part: Part, prefix: str, found: dict[tuple[type[Spec], ...], Part]) -> None:
    found[part.models] = part
    for name, inner in _inner(part.models):
        _walk(f"{prefix}{name}", inner, found)


def _inner(models: tuple[type[Spec], ...]) -> Iterator[tuple[str, tuple[type[Spec], ...]]]:
    """Yield the fields that are parts themselves."""
    for model in models:
        for name, field in model.model_fields.items():
            if inner := models_in(field.annotation):
                yield name, inner

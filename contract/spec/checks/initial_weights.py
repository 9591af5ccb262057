"""Whether a run can start from the weights of another run: by its rule, and because both build the same net."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from contract.spec.choices.data import Data, Sentences, Text
from contract.spec.choices.rules import Sync
from contract.validation import ValidationIssue

if TYPE_CHECKING:
    from contract.spec.run import RunSpec


def check_initial_weights(run: "RunSpec") -> Iterator[ValidationIssue]:
    """Yield an issue for weights that the run lacks, or that its rule cannot start from."""
    if run.evaluate_only and run.initial_weights is None:
        yield ValidationIssue(path="evaluate_only", message="there is nothing to evaluate without initial_weights")
    if run.initial_weights is not None and not isinstance(run.rule, Sync):
        message = f"the replicas of the rule '{run.rule.kind}' start from random weights: only 'sync' takes others"
        yield ValidationIssue(path="initial_weights", message=message)


def check_same_net(target: "RunSpec", source: "RunSpec") -> str | None:
    """Return why the weights of `source` do not fit the net of `target`; None if they do."""
    if target.model != source.model:
        return f"its net is {_describe(source)}, and this run's is {_describe(target)}"
    theirs, ours = _shape_of(source.data), _shape_of(target.data)
    return None if theirs == ours else f"its net is for {theirs}, and this run's for {ours}"


def _shape_of(data: Data) -> str:
    """Return the part of the data that decides the shapes of a net's weights."""
    if isinstance(data, Sentences):
        return f"a vocabulary of {data.vocabulary:,} words"
    if isinstance(data, Text):
        return f"text in samples of {data.context:,} bytes"
    samples = "volumes" if len(data.shape) == 4 else "images"
    return f"{samples} of {' x '.join(map(str, data.shape))} and {data.classes:,} classes"


def _describe(run: "RunSpec") -> str:
    fields = run.model.model_dump(mode="json", exclude={"kind"})
    return f"{run.model.kind} ({', '.join(f'{name} {value}' for name, value in fields.items())})"

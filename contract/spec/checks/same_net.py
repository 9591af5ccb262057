"""Whether a run can start from the weights of another run: both must build the same net."""

from contract.spec.choices.data import Data, Sentences, Text
from contract.spec.run import RunSpec


def check_same_net(target: RunSpec, source: RunSpec) -> str | None:
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


def _describe(run: RunSpec) -> str:
    fields = run.model.model_dump(mode="json", exclude={"kind"})
    return f"{run.model.kind} ({', '.join(f'{name} {value}' for name, value in fields.items())})"

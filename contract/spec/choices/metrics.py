"""The spec of the user's own metrics of an evaluation."""

from typing import Annotated

from pydantic import Field

from contract.spec.choices.imported import Imported

MAX_METRICS = 50
MetricKey = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=64)]


class ImportedMetric(Imported):
    """A user's metric: the function returns `metric(output, target)`, which returns the mean over the batch."""


Metrics = Annotated[dict[MetricKey, ImportedMetric], Field(max_length=MAX_METRICS)]

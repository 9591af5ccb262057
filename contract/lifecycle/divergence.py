"""Divergence: from which step on a metric of a run is no finite number, or that the run failed for such a number."""

import re
from collections.abc import Iterator

from pydantic import ConfigDict, Field, computed_field

from contract.described_model import DescribedModel
from contract.lifecycle.reason import Reason

# the engine's message of a loss that is not finite, and what other trainers write
_DIVERGENCE = re.compile(r"\bdiverged\b|\bloss (is|was|became) (not (a number|finite)|-?inf|nan)", re.IGNORECASE)
_STEP = re.compile(r"\bstep (\d{1,9})\b")
_TEXTS = ("message", "failure", "text")


class Diverged(DescribedModel):
    """Where a run diverged."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    metric: str | None = Field(default=None, examples=["train/loss"])
    """The metric; null: none of the run's metrics shows it, only the reason of its failure."""
    step: int = Field(examples=[120])
    """The first step from which on the metric has no finite value any more."""
    value: str | None = Field(default=None, examples=["nan"])
    """The metric's newest value: `nan`, `inf` or `-inf`; null without a metric."""

    # mypy takes no decorator above a property, which pydantic needs here
    @computed_field(examples=["train/loss is nan from step 120 on"])  # type: ignore[prop-decorator]
    @property
    def sentence(self) -> str:
        """What a person reads of it."""
        if self.metric is None:
            return f"the run diverged at step {self.step}"
        return f"{self.metric} is {self.value} from step {self.step} on"


def divergence_of(reason: Reason | None, step: int) -> Diverged | None:
    """Return where a run diverged that failed for this reason, `step` if the reason names no step; else None."""
    for text in _texts(reason):
        if _DIVERGENCE.search(text):
            named = _STEP.search(text)
            return Diverged(step=int(named[1]) if named else step)
    return None


def _texts(reason: object) -> Iterator[str]:
    for part in (reason, getattr(reason, "after", None)):
        yield from (text for name in _TEXTS if isinstance(text := getattr(part, name, None), str))

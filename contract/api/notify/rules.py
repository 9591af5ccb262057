"""Rules of notifications: of an experiment, of all experiments of a user, or of all experiments."""

from typing import Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from contract.described_model import DescribedModel
from contract.lifecycle.notification import NotifyEvent
from contract.spec.labels import Owner
from contract.spec.notify_rule import Events, TargetName


class NewRule(DescribedModel):
    """A rule to store."""

    model_config = ConfigDict(extra="forbid")

    target: TargetName = Field(examples=["team-slack"])
    """Name of the target."""
    on: Events = Field(examples=[["end", "failure"]])
    """The events."""
    experiment_id: int | None = Field(default=None, ge=0, le=2**31 - 1, examples=[17])
    """The experiment; null: all experiments of `owner`."""
    owner: Owner | None = Field(default=None, min_length=1, examples=["ada"])
    """The owner of the experiments; null without `experiment_id`: all experiments."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.experiment_id is not None and self.owner is not None:
            raise PydanticCustomError("rule", "a rule has an experiment or an owner, not both")
        return self


class Rule(DescribedModel):
    """A rule of notifications."""

    id: int = Field(examples=[5])
    """Id of the rule."""
    target_id: int = Field(examples=[3])
    """Id of the target."""
    target: str = Field(examples=["team-slack"])
    """Name of the target."""
    on: list[NotifyEvent] = Field(examples=[["end", "failure"]])
    """The events."""
    experiment_id: int | None = Field(examples=[17])
    """The experiment; null: the rule is not of one experiment."""
    owner: str | None = Field(examples=["ada"])
    """The owner of the experiments; null without `experiment_id`: all experiments."""


class Rules(DescribedModel):
    """Rules of notifications."""

    rules: list[Rule]
    """The rules, oldest first."""

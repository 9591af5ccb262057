"""A rule of a spec: which events of the experiment a target gets messages about."""

from typing import Annotated

from pydantic import Field, WithJsonSchema

from contract.lifecycle.notification import NotifyEvent
from contract.spec.base import Spec

MAX_RULES = 20
TargetName = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
# in JSON an event is a text
Event = Annotated[
    NotifyEvent,
    Field(strict=False),
    WithJsonSchema({"type": "string", "enum": [event.value for event in NotifyEvent]}),
]
Events = Annotated[list[Event], Field(min_length=1, max_length=len(NotifyEvent))]


class NotifyRule(Spec):
    """Messages to one target."""

    target: TargetName = Field(examples=["team-slack"])
    """Name of a target that the service knows: `bigbatch notify targets` lists them."""
    on: Events = Field(default=[NotifyEvent.END, NotifyEvent.FAILURE], examples=[["end", "failure", "anomaly"]])
    """The events: end, failure, preemption, anomaly, budget."""


Notify = Annotated[list[NotifyRule], Field(max_length=MAX_RULES)]

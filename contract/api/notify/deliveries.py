"""Deliveries: messages to targets, and how far they are."""

from datetime import datetime

from pydantic import Field

from contract.described_model import DescribedModel
from contract.lifecycle.notification import DeliveryStatus


class Delivery(DescribedModel):
    """A message to a target."""

    id: int = Field(examples=[11])
    """Id of the delivery."""
    key: str = Field(examples=["msg_5f0c1d2e3b4a59687766554433221100"])
    """The key that every attempt sends, as `webhook-id`: a receiver drops a message whose key it has seen."""
    target: str = Field(examples=["team-slack"])
    """Name of the target."""
    experiment_id: int | None = Field(examples=[17])
    """The experiment; null of a test."""
    event: str = Field(examples=["failure"])
    """end, failure, preemption, anomaly, budget, or test."""
    title: str = Field(examples=["2 runs of experiment 17 (torus against ring) failed"])
    """The message's first line."""
    status: DeliveryStatus
    """waiting, delivered, or given_up."""
    attempts: int = Field(examples=[1])
    """How often it was sent."""
    created_at: datetime = Field(examples=["2026-11-26T12:00:00Z"])
    """When the message was made."""
    next_at: datetime | None = Field(examples=[None])
    """When it is sent again; null: it is not."""
    ended_at: datetime | None = Field(examples=["2026-11-26T12:00:01Z"])
    """When it was delivered or given up; null: neither yet."""
    error: str | None = Field(examples=["the server answered 500"])
    """Why the newest attempt failed; null: it did not."""


class Deliveries(DescribedModel):
    """Deliveries."""

    deliveries: list[Delivery]
    """The deliveries, newest first."""

"""What a person can be notified of, and how far the delivery of a message is."""

from enum import StrEnum


class NotifyEvent(StrEnum):
    """What messages are about.

    end: all runs, steps and searches of an experiment have ended. failure: a run has failed for good, or a step without
    runs. preemption: a run lost its resources to another job. anomaly: a loss is no finite number any more or has left
    the curves of the run's group, or a rank made no progress. budget: a search has used its budget.
    """

    END = "end"
    FAILURE = "failure"
    PREEMPTION = "preemption"
    ANOMALY = "anomaly"
    BUDGET = "budget"


class TargetKind(StrEnum):
    """How messages are sent. webhook: a signed POST of JSON. apprise: e-mail, Slack and others by Apprise."""

    WEBHOOK = "webhook"
    APPRISE = "apprise"


class DeliveryStatus(StrEnum):
    """How far a delivery is. waiting: it is sent at once, or again later. given_up: it is not sent any more."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


TEST = "test"  # the event of a message that a person asked for

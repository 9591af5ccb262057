"""Targets, rules and deliveries as responses."""

from contract.api.notify.deliveries import Delivery
from contract.api.notify.rules import Rule
from contract.api.notify.targets import Target, shown_address
from contract.lifecycle.notification import NotifyEvent
from store.notify.rules import RuleRow
from store.tables.notify import NotifyDelivery, NotifyTarget


def target_view(target: NotifyTarget, waiting: int) -> Target:
    """Return a target without what is secret."""
    return Target(
        id=target.id,
        name=target.name,
        kind=target.kind,
        shown=shown_address(target.kind, target.address),
        owner=target.owner,
        waiting=waiting,
        delivered_at=target.delivered_at,
        error=target.error,
    )


def rule_view(row: RuleRow) -> Rule:
    """Return a rule with the name of its target."""
    rule, target = row
    return Rule(
        id=rule.id,
        target_id=rule.target_id,
        target=target,
        on=[NotifyEvent(event) for event in rule.events],
        experiment_id=rule.experiment_id,
        owner=rule.owner,
    )


def delivery_view(delivery: NotifyDelivery) -> Delivery:
    """Return a delivery."""
    return Delivery(
        id=delivery.id,
        key=delivery.key,
        target=delivery.target_name,
        experiment_id=delivery.experiment_id,
        event=delivery.event,
        title=delivery.title,
        status=delivery.status,
        attempts=delivery.attempts,
        created_at=delivery.created_at,
        next_at=delivery.not_before if delivery.ended_at is None else None,
        ended_at=delivery.ended_at,
        error=delivery.error,
    )

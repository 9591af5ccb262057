"""Rules of notifications: which target gets which events of which experiments."""

from collections.abc import Sequence

from sqlalchemy import Row, delete, insert, or_, select
from sqlalchemy.orm import Session

from contract.api.notify.rules import NewRule
from contract.spec.notify_rule import NotifyRule as SpecRule
from store.notify.targets import target_ids
from store.tables.experiments import Experiment
from store.tables.notify import NotifyRule, NotifyTarget

RuleRow = Row[NotifyRule, str]  # with the name of the target


def add_spec_rules(db: Session, experiment_id: int, rules: Sequence[SpecRule]) -> None:
    """Store the rules of a new experiment's spec; a target that was deleted since the check is left out."""
    if not rules:
        return
    ids = target_ids(db, {rule.target for rule in rules})
    rows = [
        {
            "target_id": ids[rule.target],
            "experiment_id": experiment_id,
            "owner": None,
            "events": [event.value for event in rule.on],
        }
        for rule in rules
        if rule.target in ids
    ]
    if rows:
        db.execute(insert(NotifyRule), rows)


def add_rule(db: Session, new: NewRule, target_id: int) -> NotifyRule:
    """Store a rule."""
    events = [event.value for event in new.on]
    rule = NotifyRule(target_id=target_id, experiment_id=new.experiment_id, owner=new.owner, events=events)
    db.add(rule)
    db.flush()
    return rule


def list_rules(db: Session, experiment_id: int | None, limit: int) -> Sequence[RuleRow]:
    """Return rules with the names of their targets, oldest first: all, or those that an experiment has or inherits."""
    query = select(NotifyRule, NotifyTarget.name).join(NotifyTarget, NotifyTarget.id == NotifyRule.target_id)
    if experiment_id is not None:
        owner = select(Experiment.owner).where(Experiment.id == experiment_id).scalar_subquery()
        is_general = NotifyRule.experiment_id.is_(None)
        inherited = is_general & or_(NotifyRule.owner.is_(None), NotifyRule.owner == owner)
        query = query.where(or_(NotifyRule.experiment_id == experiment_id, inherited))
    return db.execute(query.order_by(NotifyRule.id).limit(limit)).all()


def find_rule(db: Session, rule_id: int) -> RuleRow | None:
    """Return a rule with the name of its target; None if there is none."""
    query = select(NotifyRule, NotifyTarget.name).join(NotifyTarget, NotifyTarget.id == NotifyRule.target_id)
    return db.execute(query.where(NotifyRule.id == rule_id)).one_or_none()


def delete_rule(db: Session, rule_id: int) -> None:
    """Delete a rule."""
    db.execute(delete(NotifyRule).where(NotifyRule.id == rule_id))


def remove(db: Session, experiment_ids: Sequence[int]) -> None:
    """Remove the rules of deleted experiments."""
    db.execute(delete(NotifyRule).where(NotifyRule.experiment_id.in_(experiment_ids)))

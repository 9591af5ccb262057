"""The check of the rules of a spec against the targets that the service knows."""

from sqlalchemy.orm import Session

from contract.spec.experiment import ExperimentSpec
from contract.validation import ValidationIssue
from orders.refused import Refused
from store.notify.targets import target_ids


def check_targets(db: Session, spec: ExperimentSpec) -> Refused | None:
    """Refuse a rule whose target this service does not have."""
    if not spec.notify:
        return None
    known = target_ids(db, {rule.target for rule in spec.notify})
    issues = [
        ValidationIssue(
            path=f"notify.{number}.target",
            message=f"there is no target {rule.target}: `bigbatch notify add-webhook` or `add-address` stores one",
        )
        for number, rule in enumerate(spec.notify)
        if rule.target not in known
    ]
    return Refused("a target of notifications is not known", issues) if issues else None

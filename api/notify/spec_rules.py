"""The check of the rules of a spec against the targets that the service knows."""

from sqlalchemy.orm import Session

from api.errors import Invalid
from contract.spec.experiment import ExperimentSpec
from contract.validation import ValidationIssue
from store.notify.targets import target_ids


def refuse_unknown_targets(db: Session, spec: ExperimentSpec) -> None:
    """Raise Invalid for a rule whose target this service does not have."""
    if not spec.notify:
        return
    known = target_ids(db, {rule.target for rule in spec.notify})
    issues = [
        ValidationIssue(
            path=f"notify.{number}.target",
            message=f"there is no target {rule.target}: `bigbatch notify add-webhook` or `add-address` stores one",
        )
        for number, rule in enumerate(spec.notify)
        if rule.target not in known
    ]
    if issues:
        raise Invalid("a target of notifications is not known", issues)

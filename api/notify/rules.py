"""Rules of notifications, and the deliveries that followed from them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from api.database import Reading, Writing
from api.errors import Invalid, NotFound
from api.http.bodies import body_of, describe_body
from api.http.statuses import ACTION, LIST
from api.notify.render import delivery_view, rule_view
from api.parameters import MAX_INTEGER, Limit
from api.rows import see_experiment
from contract.api.notify.deliveries import Deliveries
from contract.api.notify.rules import NewRule, Rule, Rules
from contract.validation import ValidationIssue
from store.notify import deliveries, rules, targets

router = APIRouter(prefix="/notifications", tags=["notifications"])
RuleId = Annotated[int, Path(ge=0, le=MAX_INTEGER, description="Id of the rule.", examples=[5])]
OfExperiment = Annotated[
    int | None, Query(ge=0, le=MAX_INTEGER, description="Only of this experiment; without it of all.", examples=[17])
]
OfTarget = Annotated[
    int | None, Query(ge=0, le=MAX_INTEGER, description="Only to this target; without it to all.", examples=[3])
]
Before = Annotated[
    int | None,
    Query(ge=0, le=MAX_INTEGER, description="Only deliveries with a lower id, for the next page.", examples=[11]),
]


@router.get("/rules", responses=LIST)
def get_notify_rules(db: Reading, experiment: OfExperiment = None, limit: Limit = 500) -> Rules:
    """Return rules, oldest first; of an experiment also those of its owner and of all experiments."""
    if experiment is not None:
        see_experiment(db, experiment)
    return Rules(rules=[rule_view(row) for row in rules.list_rules(db, experiment, limit)])


@router.post(
    "/rules",
    status_code=201,
    responses=ACTION,
    openapi_extra=describe_body(NewRule, "The rule, as JSON or YAML."),
)
def create_notify_rule(new: Annotated[NewRule, Depends(body_of(NewRule, what="the rule"))], db: Writing) -> Rule:
    """Store a rule: of an experiment, of all experiments of an owner, or of all experiments."""
    if new.experiment_id is not None:
        see_experiment(db, new.experiment_id)
    ids = targets.target_ids(db, [new.target])
    if new.target not in ids:
        issue = ValidationIssue(path="target", message=f"there is no target {new.target}")
        raise Invalid("the rule is not valid", [issue])
    rule = rules.add_rule(db, new, ids[new.target])
    found = rules.find_rule(db, rule.id)
    assert found is not None
    return rule_view(found)


@router.delete("/rules/{rule_id:id}", status_code=204, responses=ACTION)
def delete_notify_rule(rule_id: RuleId, db: Writing) -> None:
    """Delete a rule; messages that were made by it are still delivered."""
    if rules.find_rule(db, rule_id) is None:
        raise NotFound(f"there is no rule {rule_id}")
    rules.delete_rule(db, rule_id)


@router.get("/deliveries", responses=LIST)
def get_notify_deliveries(
    db: Reading, experiment: OfExperiment = None, target: OfTarget = None, before: Before = None, limit: Limit = 50
) -> Deliveries:
    """Return messages and how far their delivery is, newest first; those that ended over 30 days ago are removed."""
    found = deliveries.page(db, experiment_id=experiment, target_id=target, before=before, limit=limit)
    return Deliveries(deliveries=[delivery_view(one) for one in found])

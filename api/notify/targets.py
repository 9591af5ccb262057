"""Targets of notifications: list, store, change, delete, send a test. No answer has an address or a secret."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from api.database import Reading, Writing
from api.errors import Conflict, Invalid, NotFound
from api.http.bodies import body_of, describe_body
from api.http.statuses import ACTION, CHANGE, CREATION, LIST
from api.notify.render import delivery_view, target_view
from api.parameters import MAX_INTEGER, UserName
from contract.api.notify.deliveries import Delivery
from contract.api.notify.message import Message, MessageData
from contract.api.notify.targets import NewTarget, Target, TargetChange, Targets, address_issue
from contract.lifecycle.notification import TEST, TargetKind
from contract.validation import ValidationIssue
from store.notify import deliveries, targets
from store.notify.targets import MAX_TARGETS
from store.tables.base import now
from store.tables.notify import NotifyDelivery, NotifyTarget

router = APIRouter(prefix="/notifications/targets", tags=["notifications"])
TargetId = Annotated[int, Path(ge=0, le=MAX_INTEGER, description="Id of the target.", examples=[3])]
TEST_TEXT = "Somebody asked for this message, to see that messages arrive."


@router.get("", responses=LIST)
def get_notify_targets(db: Reading) -> Targets:
    """Return the targets, in the order of their names."""
    waiting = targets.waiting_counts(db)
    return Targets(targets=[target_view(one, waiting.get(one.id, 0)) for one in targets.all_targets(db)])


@router.post(
    "",
    status_code=201,
    responses=CREATION,
    openapi_extra=describe_body(NewTarget, "The target, as JSON or YAML."),
)
def create_notify_target(
    new: Annotated[NewTarget, Depends(body_of(NewTarget, what="the target"))], db: Writing, user: UserName = None
) -> Target:
    """Store a target under a name of its own."""
    _refuse_taken(db, new.name)
    if targets.count_targets(db) >= MAX_TARGETS:
        raise Conflict(f"there are {MAX_TARGETS} targets, and no more are possible: delete one")
    try:
        return target_view(targets.add_target(db, new, user or ""), 0)
    except IntegrityError:
        raise Conflict(f"there is a target with the name {new.name}") from None


@router.patch(
    "/{target_id:id}",
    responses=CHANGE,
    openapi_extra=describe_body(TargetChange, "The changes, as JSON or YAML.", required=False),
)
def patch_notify_target(
    target_id: TargetId,
    change: Annotated[TargetChange, Depends(body_of(TargetChange, what="the change", required=False))],
    db: Writing,
) -> Target:
    """Rename a target, or change its address or its secret."""
    target = _found(db, target_id)
    if change.name is not None and change.name != target.name:
        _refuse_taken(db, change.name)
    if change.secret is not None and target.kind is not TargetKind.WEBHOOK:
        raise Invalid("the change is not valid", [ValidationIssue(path="secret", message="only a webhook has one")])
    if change.address is not None and (message := address_issue(target.kind, change.address.get_secret_value())):
        raise Invalid("the change is not valid", [ValidationIssue(path="address", message=message)])
    targets.change_target(db, target, change)
    return target_view(target, targets.waiting_counts(db).get(target.id, 0))


@router.delete("/{target_id:id}", status_code=204, responses=ACTION)
def delete_notify_target(target_id: TargetId, db: Writing) -> None:
    """Delete a target with its rules; messages that wait for it are given up."""
    targets.delete_target(db, _found(db, target_id))


@router.post("/{target_id:id}/test", status_code=201, responses=ACTION)
def send_test_message(target_id: TargetId, db: Writing, user: UserName = None) -> Delivery:
    """Send a message to a target, so that somebody sees whether it arrives."""
    target = _found(db, target_id)
    title = f"A test of the target {target.name}" + (f" by {user}" if user else "")
    message = Message(type="test", timestamp=now(), data=MessageData(title=title, text=TEST_TEXT))
    delivery = NotifyDelivery(
        key=deliveries.new_key(),
        target_id=target.id,
        target_name=target.name,
        event=TEST,
        title=title,
        body=message.model_dump(mode="json"),
    )
    db.add(delivery)
    db.flush()
    return delivery_view(delivery)


def _found(db: Session, target_id: int) -> NotifyTarget:
    target = db.get(NotifyTarget, target_id)
    if target is None:
        raise NotFound(f"there is no target {target_id}")
    return target


def _refuse_taken(db: Session, name: str) -> None:
    if targets.target_ids(db, [name]):
        raise Conflict(f"there is a target with the name {name}")

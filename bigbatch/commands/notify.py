"""`bigbatch notify`: targets, rules and deliveries of messages about experiments."""

import base64
import secrets
import sys
from typing import Annotated

import typer
from pydantic import ValidationError

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.errors import BigbatchError
from bigbatch.terminal.output import print_json, print_table
from contract.api.notify.deliveries import Delivery
from contract.api.notify.rules import Rule
from contract.api.notify.targets import SECRET_PREFIX, Target
from contract.lifecycle.notification import NotifyEvent, TargetKind
from contract.validation import issues_of

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the target.")]
Id = Annotated[int, typer.Argument(metavar="ID", help="The rule.")]
Url = Annotated[str, typer.Argument(metavar="URL", help="The address; - reads it from standard input.")]
Events = Annotated[list[NotifyEvent] | None, typer.Option("--on", help="An event; repeat it.")]
SECRET_BYTES = 32
app = typer.Typer(
    name="notify",
    help="Messages about experiments: targets, rules, deliveries.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("targets")
def list_targets(as_json: Json = False) -> None:
    """List the targets of messages."""
    with Client() as client:
        found = client.notify_targets()
    if as_json:
        print_json(found)
        return
    rows = [
        (one.name, one.kind.value, one.shown, one.owner or "-", str(one.waiting), one.error or "-") for one in found
    ]
    print_table(("NAME", "KIND", "ADDRESS", "OWNER", "WAITING", "LAST ERROR"), rows)


@app.command("add-webhook")
def add_webhook(name: Name, url: Url) -> None:
    """Store a webhook, and print the secret with which the receiver checks signatures: it is shown this once."""
    secret = new_secret()
    with Client() as client:
        target = client.add_notify_target(name, TargetKind.WEBHOOK, _read(url), secret)
    print(f"target {target.name}: {target.shown}")
    print(f"secret for the receiver: {secret}")


@app.command("add-address")
def add_address(name: Name, url: Url) -> None:
    """Store an e-mail address, a Slack channel or another service by its Apprise URL (bigbatch[notify])."""
    with Client() as client:
        target = client.add_notify_target(name, TargetKind.APPRISE, _read(url))
    print(f"target {target.name}: {target.shown}")


@app.command("set-target")
def set_target(
    name: Name,
    *,
    rename: Annotated[str | None, typer.Option(help="New name.")] = None,
    url: Annotated[str | None, typer.Option(help="New address; - reads it from standard input.")] = None,
    renew_secret: Annotated[bool, typer.Option("--renew-secret", help="Make and print another secret.")] = False,
) -> None:
    """Change a target."""
    secret = new_secret() if renew_secret else None
    with Client() as client:
        address = None if url is None else _read(url)
        target = client.change_notify_target(_found(client, name).id, name=rename, address=address, secret=secret)
    print(f"target {target.name}: {target.shown}")
    if secret is not None:
        print(f"secret for the receiver: {secret}")


@app.command("remove-target")
def remove_target(name: Name) -> None:
    """Delete a target with its rules."""
    with Client() as client:
        client.delete_notify_target(_found(client, name).id)
    print(f"target {name}: deleted")


@app.command("test")
def send_test(name: Name) -> None:
    """Send a message to a target; `bigbatch notify deliveries` shows whether it arrived."""
    with Client() as client:
        delivery = client.send_test_message(_found(client, name).id)
    print(f"message {delivery.key} is on its way to {name}: bigbatch notify deliveries")


@app.command("rules")
def list_rules(
    experiment_id: Annotated[int | None, typer.Argument(metavar="[EXPERIMENT]", help="Only of this one.")] = None,
    as_json: Json = False,
) -> None:
    """List the rules: which target gets which messages."""
    with Client() as client:
        found = client.notify_rules(experiment_id)
    if as_json:
        print_json(found)
        return
    print_table(("ID", "TARGET", "EVENTS", "OF"), [_rule_row(rule) for rule in found])


@app.command("add-rule")
def add_rule(
    name: Name,
    *,
    on: Events = None,
    experiment: Annotated[int | None, typer.Option(help="An experiment.")] = None,
    owner: Annotated[str | None, typer.Option(help="All experiments of this owner.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All experiments.")] = False,
) -> None:
    """Let a target get messages about an experiment, about an owner's experiments, or about all."""
    if [experiment is not None, owner is not None, everything].count(True) != 1:
        raise BigbatchError("say which experiments: --experiment ID, --owner NAME, or --all")
    events = on or [NotifyEvent.END, NotifyEvent.FAILURE]
    with Client() as client:
        try:
            rule = client.add_notify_rule(name, events, experiment_id=experiment, owner=owner)
        except ValidationError as error:
            raise BigbatchError(f"{issues_of(error)[0].path}: {issues_of(error)[0].message}") from error
    print(f"rule {rule.id}: {rule.target} gets {', '.join(rule.on)} of {_of(rule)}")


@app.command("remove-rule")
def remove_rule(rule_id: Id) -> None:
    """Delete a rule."""
    with Client() as client:
        client.delete_notify_rule(rule_id)
    print(f"rule {rule_id}: deleted")


@app.command("deliveries")
def list_deliveries(
    experiment_id: Annotated[int | None, typer.Argument(metavar="[EXPERIMENT]", help="Only of this one.")] = None,
    *,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Number of messages.")] = 20,
    as_json: Json = False,
) -> None:
    """List the newest messages and how far their delivery is."""
    with Client() as client:
        found = client.notify_deliveries(experiment_id, limit=limit)
    if as_json:
        print_json(found)
        return
    print_table(("ID", "TARGET", "STATUS", "ATTEMPTS", "MESSAGE", "ERROR"), [_delivery_row(one) for one in found])


def new_secret() -> str:
    """Return a new secret of a webhook."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def _read(url: str) -> str:
    """Return an address; one with a password need not stand in the shell's history."""
    return sys.stdin.readline().strip() if url == "-" else url


def _found(client: Client, name: str) -> Target:
    targets = client.notify_targets()
    target = next((one for one in targets if one.name == name), None)
    if target is None:
        known = ", ".join(one.name for one in targets) or "none"
        raise BigbatchError(f"there is no target {name}; there are: {known}")
    return target


def _rule_row(rule: Rule) -> tuple[str, ...]:
    return str(rule.id), rule.target, ", ".join(rule.on), _of(rule)


def _of(rule: Rule) -> str:
    if rule.experiment_id is not None:
        return f"experiment {rule.experiment_id}"
    return "all experiments" if rule.owner is None else f"all experiments of {rule.owner}"


def _delivery_row(one: Delivery) -> tuple[str, ...]:
    return str(one.id), one.target, one.status.value, str(one.attempts), one.title, one.error or "-"

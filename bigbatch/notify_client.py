"""The client's methods for notifications: targets, rules, deliveries."""

import json
from collections.abc import Sequence
from typing import Any

from bigbatch.connection import Connection, Parameters
from contract.api.notify.deliveries import Deliveries, Delivery
from contract.api.notify.rules import NewRule, Rule, Rules
from contract.api.notify.targets import Target, Targets
from contract.lifecycle.notification import NotifyEvent, TargetKind

PATH = "/notifications"


class NotifyClient:
    """The methods; `Client` has the connection."""

    _connection: Connection

    def notify_targets(self) -> list[Target]:
        """Return the targets of notifications, in the order of their names."""
        return self._connection.get(f"{PATH}/targets", Targets).targets

    def add_notify_target(self, name: str, kind: TargetKind, address: str, secret: str | None = None) -> Target:
        """Store a target. No answer of the service has its address or its secret."""
        # the model's own JSON hides both
        document = {"name": name, "kind": kind.value, "address": address, "secret": secret}
        return self._connection.post(f"{PATH}/targets", Target, content=json.dumps(document).encode())

    def change_notify_target(
        self, target_id: int, *, name: str | None = None, address: str | None = None, secret: str | None = None
    ) -> Target:
        """Change a target; None changes nothing."""
        fields = {"name": name, "address": address, "secret": secret}
        content = json.dumps({key: value for key, value in fields.items() if value is not None}).encode()
        response = self._connection.send(
            "PATCH", f"{PATH}/targets/{target_id}", content=content, kind="application/json"
        )
        return self._connection.read(response, Target)

    def delete_notify_target(self, target_id: int) -> None:
        """Delete a target with its rules."""
        self._connection.delete(f"{PATH}/targets/{target_id}")

    def send_test_message(self, target_id: int) -> Delivery:
        """Send a message to a target; `notify_deliveries` says whether it arrived."""
        return self._connection.post(f"{PATH}/targets/{target_id}/test", Delivery)

    def notify_rules(self, experiment_id: int | None = None) -> list[Rule]:
        """Return the rules of an experiment, its owner's among them, or all rules."""
        ask: Parameters = {} if experiment_id is None else {"experiment": experiment_id}
        return self._connection.get(f"{PATH}/rules", Rules, ask=ask).rules

    def add_notify_rule(
        self, target: str, on: Sequence[NotifyEvent], *, experiment_id: int | None = None, owner: str | None = None
    ) -> Rule:
        """Store a rule of an experiment, of all experiments of an owner, or with neither of all experiments."""
        fields: dict[str, Any] = {"target": target, "on": list(on), "experiment_id": experiment_id, "owner": owner}
        body = NewRule.model_validate(fields).model_dump_json().encode()
        return self._connection.post(f"{PATH}/rules", Rule, content=body)

    def delete_notify_rule(self, rule_id: int) -> None:
        """Delete a rule."""
        self._connection.delete(f"{PATH}/rules/{rule_id}")

    def notify_deliveries(self, experiment_id: int | None = None, *, limit: int = 50) -> list[Delivery]:
        """Return messages and how far their delivery is, newest first."""
        ask: Parameters = {"limit": limit} if experiment_id is None else {"limit": limit, "experiment": experiment_id}
        return self._connection.get(f"{PATH}/deliveries", Deliveries, ask=ask).deliveries

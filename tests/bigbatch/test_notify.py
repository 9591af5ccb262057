"""`bigbatch notify`: the command stores targets and rules, prints a secret once, and shows deliveries."""

import re

import pytest

from bigbatch.client import Client
from contract.api.notify.targets import secret_bytes
from store.session import snapshot
from store.tables.notify import NotifyTarget
from tests.testing.command import Call, Site

URL = "https://hooks.example.org/very-secret"


def test_a_webhook_is_stored_with_a_secret_that_is_printed_once(site: Site, client: Client, call: Call) -> None:
    made = call("notify", "add-webhook", "first", URL)
    secret = re.search(r"secret for the receiver: (\S+)", made.out)
    assert secret is not None
    assert len(secret_bytes(secret[1])) == 32
    with snapshot(site.engine) as db:
        stored = db.query(NotifyTarget).filter_by(name="first").one()
        assert (stored.address, stored.secret) == (URL, secret[1])
    listed = call("notify", "targets")
    assert "https://hooks.example.org/..." in listed.out
    assert "very-secret" not in listed.out + call("notify", "targets", "--json").out
    renewed = call("notify", "set-target", "first", "--renew-secret", "--rename", "renamed")
    assert "target renamed" in renewed.out
    assert secret[1] not in renewed.out


def test_an_address_can_come_from_standard_input(
    site: Site, client: Client, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("slack://TokenA/TokenB/TokenC\n"))
    assert "target people: slack://..." in call("notify", "add-address", "people", "-").out
    with snapshot(site.engine) as db:
        assert db.query(NotifyTarget).filter_by(name="people").one().address == "slack://TokenA/TokenB/TokenC"


def test_rules_and_deliveries_are_listed(client: Client, call: Call) -> None:
    call("notify", "add-webhook", "second", URL)
    made = call("notify", "add-rule", "second", "--owner", "ada", "--on", "failure", "--on", "anomaly")
    number = re.search(r"rule (\d+): second gets failure, anomaly of all experiments of ada", made.out)
    assert number is not None
    assert "all experiments of ada" in call("notify", "rules").out
    assert call("notify", "test", "second").code == 0
    deliveries = call("notify", "deliveries").out
    assert "A test of the target second" in deliveries
    assert "waiting" in deliveries
    assert call("notify", "remove-rule", number[1]).code == 0
    assert call("notify", "remove-rule", number[1]).code == 1
    assert call("notify", "remove-target", "second").code == 0
    assert "the target was deleted" in call("notify", "deliveries").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("test", "nobody"), "there is no target nobody"),
        (("add-rule", "nobody", "--all"), "there is no target nobody"),
        (("add-rule", "nobody"), "say which experiments"),
        (("add-webhook", "x", "ftp://very-secret"), "a webhook's address is https://HOST/PATH"),
        (("add-address", "x", "exec://very-secret"), "an Apprise URL begins with one of"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    client: Client, call: Call, arguments: tuple[str, ...], message: str
) -> None:
    called = call("notify", *arguments)
    assert called.code in (1, 2)
    assert message in called.err
    assert "very-secret" not in called.err

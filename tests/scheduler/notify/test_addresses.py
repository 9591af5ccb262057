"""Messages go to public addresses, and to what the setting allows: a webhook calls no server of the own network."""

import socket
from typing import Any

import pytest

from scheduler.context import Context
from scheduler.notify.addresses import AllowedHosts, RefusedAddressError
from scheduler.notify.outcome import FinalError
from scheduler.notify.webhook import send_webhook
from scheduler.ticks.notify import notify
from tests.scheduler.notify.conftest import add_webhook, deliveries_of
from tests.scheduler.notify.test_deliveries import add_message
from tests.testing.receiver import SECRET, Receiver

REFUSED = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"),
    *("::1", "fe80::1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1"),
]
PUBLIC = ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"]


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_of_the_own_network_is_refused(address: str) -> None:
    with pytest.raises(RefusedAddressError, match="BIGBATCH_NOTIFY_HOSTS"):
        AllowedHosts().find_address(address, 443)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_allowed(address: str) -> None:
    assert AllowedHosts().is_allowed("example.org", address)


def test_the_setting_allows_networks_and_hosts_by_name() -> None:
    allowed = AllowedHosts.of(["10.0.0.0/8", "Hooks.lab.internal"])
    assert allowed.is_allowed("x", "10.9.9.9")
    assert allowed.is_allowed("x", "::ffff:10.9.9.9")
    assert allowed.is_allowed("hooks.lab.internal", "192.168.0.1")
    assert not allowed.is_allowed("other.lab.internal", "192.168.0.1")


def test_the_address_that_was_checked_is_the_one_that_is_connected(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    """Forces the fault: a name that means a public address when it is checked, and another one when it is used."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *more: Any, **options: Any) -> Any:
        if host != "rebound.example.org":
            return real(host, port, *more, **options)
        asked.append(host)
        return real("127.0.0.1", port, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    url = f"http://rebound.example.org:{receiver.port}/"
    with pytest.raises(FinalError, match="not public"):
        send_webhook(url, SECRET, "msg_1", {}, AllowedHosts.of(["10.0.0.0/8"]))
    assert asked
    assert receiver.received == []


def test_a_public_address_needs_encryption(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: Any, **__: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC[0], 80))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(FinalError, match="https://"):
        send_webhook("http://hooks.example.org/", SECRET, "msg_1", {}, AllowedHosts())


def test_a_refused_address_ends_the_delivery_at_once_with_the_reason(context: Context, receiver: Receiver) -> None:
    add_message(context, add_webhook(context, receiver))
    notify(context)
    (delivery,) = deliveries_of(context)
    assert (delivery.status.value, receiver.received) == ("given_up", [])
    assert delivery.error is not None
    assert "127.0.0.1, which is not public" in delivery.error

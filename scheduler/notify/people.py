"""Messages to people: e-mail, Slack and others, sent by Apprise, an optional package."""

import logging
import re
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urlsplit

from scheduler.notify.addresses import AllowedHosts, RefusedAddressError
from scheduler.notify.outcome import FinalError, SendError

MISSING = "the package apprise is missing: install bigbatch[notify] where the scheduler runs"
SECRET_PARTS = re.compile(r"[^/:@?&=,;]{4,}")  # of an address
HIDDEN = "***"
PORT = 443
# services whose address names a server; those of the others are fixed, and the part behind :// may be a token
NAMES_SERVER = frozenset({"mailto", "mmost", "rocket", "gotify", "ntfy", "matrix", "workflows"})


def send_to_people(address: str, key: str, title: str, text: str, url: str | None, allowed: AllowedHosts) -> None:
    """Send one message by the service that the address names; raise SendError if that does not accept it.

    The key stands in the text, for these services have no place for one: a person sees that a message is a repeat.
    """
    try:
        apprise: Any = import_module("apprise")
    except ImportError:
        raise FinalError(MISSING) from None
    logging.getLogger("apprise").propagate = False  # its lines may contain parts of addresses
    plugin = apprise.Apprise.instantiate(address)
    if plugin is None:
        raise FinalError("Apprise does not understand the address: `bigbatch notify set-target` changes it")
    _check_hosts(plugin, urlsplit(address).scheme, allowed)
    body = "\n\n".join(part for part in (text, url, f"message {key}") if part)
    with apprise.LogCapture(level=logging.WARNING) as lines:
        try:
            is_sent = plugin.notify(body=body, title=title)
        except (OSError, TypeError) as error:
            raise SendError(f"the service did not accept the message: {redact(str(error), address)}") from None
        words = lines.getvalue().strip()
    if not is_sent:
        last = words.splitlines()[-1] if words else "no reason is known"
        raise SendError(f"the service did not accept the message: {redact(last, address)}")


def redact(words: str, address: str) -> str:
    """Return the words without any part of an address, as it is written and as it is meant."""
    url = urlsplit(address)
    parts = {part for text in (address, unquote(address)) for part in SECRET_PARTS.findall(text)} - {url.scheme}
    parts |= {text for text in (url.password, unquote(url.password or "")) if text}
    for part in sorted(parts, key=len, reverse=True):
        words = words.replace(part, HIDDEN)
    return words


def _check_hosts(plugin: Any, scheme: str, allowed: AllowedHosts) -> None:
    """Refuse a server that messages may not go to, where the address names one."""
    if scheme.removesuffix("s") not in NAMES_SERVER and scheme not in NAMES_SERVER:
        return
    hosts = {getattr(plugin, name, None) for name in ("host", "smtp_host")}
    for host in sorted(host for host in hosts if isinstance(host, str) and host):
        try:
            allowed.find_address(host, getattr(plugin, "port", None) or PORT)
        except RefusedAddressError as error:
            raise FinalError(str(error)) from None
        except OSError as error:
            raise SendError(f"the host {host} is not known: {error}") from None

"""Targets of notifications. Addresses and secrets come in, and never go out."""

import base64
import binascii
from datetime import datetime
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from contract.described_model import DescribedModel
from contract.lifecycle.notification import TargetKind
from contract.spec.notify_rule import TargetName

SECRET_PREFIX = "whsec_"  # of https://www.standardwebhooks.com
MIN_SECRET, MAX_SECRET = 24, 64  # bytes
# services of Apprise that send a message to people; others start programs or call any address of the network
SERVICES = frozenset(
    [
        *("discord", "gchat", "gotify", "gotifys", "mailto", "mailtos", "matrix", "matrixs", "mmost", "mmosts"),
        *("ntfy", "ntfys", "opsgenie", "pagerduty", "pover", "rocket", "rockets", "slack", "tgram"),
        *("workflows", "wxteams"),
    ]
)


def secret_bytes(secret: str) -> bytes:
    """Return the bytes of a webhook's secret; raise ValueError without the value in its message."""
    try:
        found = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if not secret.startswith(SECRET_PREFIX) or not MIN_SECRET <= len(found) <= MAX_SECRET:
        raise ValueError(f"a secret is {SECRET_PREFIX} and {MIN_SECRET} to {MAX_SECRET} random bytes in base64")
    return found


def _check_secret(secret: SecretStr) -> SecretStr:
    try:
        secret_bytes(secret.get_secret_value())
    except ValueError as error:
        raise PydanticCustomError("webhook_secret", str(error)) from None
    return secret


Address = Annotated[
    SecretStr,
    Field(
        min_length=1,
        max_length=4_000,
        examples=["https://hooks.example.org/bigbatch"],
        json_schema_extra={"format": "password", "writeOnly": True},
    ),
]
Secret = Annotated[
    SecretStr,
    Field(
        max_length=200,
        examples=["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"],
        json_schema_extra={"format": "password", "writeOnly": True},
    ),
    AfterValidator(_check_secret),
]


def address_issue(kind: TargetKind, address: str) -> str | None:
    """Return why this kind of target cannot have an address, without repeating it; None if it can."""
    if any(character <= " " or character == "\x7f" for character in address):
        return "an address has no spaces and no control characters"
    try:
        parts = urlsplit(address)
        scheme, host, _ = parts.scheme.lower(), parts.hostname, parts.port
    except ValueError:
        return "the address is not a valid URL"
    if kind is TargetKind.APPRISE:
        return None if scheme in SERVICES else f"an Apprise URL begins with one of: {', '.join(sorted(SERVICES))}"
    if scheme not in ("http", "https") or not host:
        return "a webhook's address is https://HOST/PATH"
    if parts.username is not None:
        return "a webhook's address has no user and no password: requests are signed"
    return None


class NewTarget(DescribedModel):
    """A target to store."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: TargetName = Field(examples=["team-slack"])
    """Its name, by which rules refer to it."""
    kind: TargetKind
    """webhook: a signed POST; apprise: e-mail, Slack and others."""
    address: Address
    """URL of the webhook, or an Apprise URL: it may contain passwords, and no answer shows it."""
    secret: Secret | None = None
    """Of a webhook: the key of the signature. The client makes it and gives it to the receiver; no answer shows it."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if issue := address_issue(self.kind, self.address.get_secret_value()):
            raise PydanticCustomError("address", issue)
        if (self.secret is None) is (self.kind is TargetKind.WEBHOOK):
            raise PydanticCustomError("secret", "a webhook has a secret, and a target of Apprise has none")
        return self


class TargetChange(DescribedModel):
    """Changes of a target; a field that is absent or null changes nothing."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: TargetName | None = Field(default=None, examples=["team-slack"])
    """New name."""
    address: Address | None = None
    """New URL."""
    secret: Secret | None = None
    """New key of a webhook's signature."""


class Target(DescribedModel):
    """A target of notifications, without its secrets."""

    id: int = Field(examples=[3])
    """Id of the target."""
    name: str = Field(examples=["team-slack"])
    """Its name."""
    kind: TargetKind
    """webhook: a signed POST; apprise: e-mail, Slack and others."""
    shown: str = Field(examples=["https://hooks.example.org/..."])
    """The part of its address that is no secret."""
    owner: str = Field(examples=["ada"])
    """Who stored it; empty if the client gave no name."""
    waiting: int = Field(examples=[0])
    """Number of messages that are not delivered yet."""
    delivered_at: datetime | None = Field(examples=["2026-11-26T12:00:00Z"])
    """When a message was delivered last; null: never."""
    error: str | None = Field(examples=["the server answered 500"])
    """Why the newest attempt failed; null: the newest one succeeded, or there was none."""


class Targets(DescribedModel):
    """Targets of notifications."""

    targets: list[Target]
    """The targets in the order of their names."""


def shown_address(kind: TargetKind, address: str) -> str:
    """Return the part of an address that is no secret: a Slack URL's path is one, a mail URL has a password."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if kind is TargetKind.APPRISE:
        # elsewhere the first part behind :// may be a token
        return f"{parts.scheme}://{host}" if parts.scheme.startswith("mailto") else f"{parts.scheme}://..."
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}/..."

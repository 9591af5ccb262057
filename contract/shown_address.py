"""Addresses of databases, brokers and services: what of them may be shown, and which ones every library reads alike."""

import re

PLACES = re.compile(r"[/?#]")


def shown_address(url: str) -> str:
    """Return an address as a message or a log may have it: no password, and nothing behind a question mark.

    What stands before the last @ may be a password with signs that an address should not have.
    """
    scheme, colon, rest = url.partition("://")
    if not colon:
        return "***" if "@" in url else url.partition("?")[0]
    account, at, place = rest.rpartition("@")
    user = account.partition(":")[0]
    place = place.partition("?")[0].partition("#")[0]
    hidden = f"{user if re.fullmatch(r'[A-Za-z0-9._-]*', user) else ''}:***@" if at else ""
    return f"{scheme}://{hidden if ':' in account else at and f'{user}@'}{place}"


def unclear_address(url: str, *, refused: str = "/?#") -> str | None:
    """Return why a library may not see where the password of an address ends; None for a clear address.

    What it reads as the host or as the port, it prints. `refused` are the signs that it does not take in a password.
    """
    rest = url.partition("://")[2]
    if "@" not in rest:
        return _wrong_port(PLACES.split(rest)[0])
    account, _, place = rest.partition("@")
    if "@" in PLACES.split(place)[0] or any(sign in account for sign in refused):
        return "the name or the password has one of @ / ? #: write %40, %2F, %3F or %23 for it"
    return _wrong_port(PLACES.split(place)[0])


def _wrong_port(place: str) -> str | None:
    port = place.rpartition("]")[2].rpartition(":")[2] if ":" in place.rpartition("]")[2] else ""
    is_right = not port or (port.isascii() and port.isdigit() and int(port) < 2**16)
    return None if is_right else "the port is no number from 0 to 65535"

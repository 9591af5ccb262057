"""`bigbatch sign-in`: print a link that signs a browser in."""

from bigbatch.client import Client
from contract.access.signed_value import LIFETIME_S, Purpose


def sign_in() -> None:
    """Print a link that signs a browser in to the service."""
    with Client() as client:
        print_sign_in_link(client)


def print_sign_in_link(client: Client, path: str = "/") -> None:
    """Print a new link that signs a browser in and opens the page at `path`."""
    minutes, link = LIFETIME_S[Purpose.CODE] // 60, client.sign_in_url(path)
    print(f"Sign in with a browser (the link works once, within {minutes} minutes):\n  {link}", flush=True)

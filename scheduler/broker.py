"""Whether the broker for teams answers, in a sentence without its password."""

from kombu import Connection

from contract.shown_address import shown_address

CONNECT_S = 5


def broker_problem(url: str) -> str | None:
    """Return that the broker does not answer, and why; None if it does."""
    try:
        with Connection(
            url, connect_timeout=CONNECT_S, transport_options={"socket_connect_timeout": CONNECT_S}
        ) as broker:
            broker.ensure_connection(max_retries=1, timeout=CONNECT_S)
    except Exception as error:  # each transport has its own exceptions
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        return f"the broker {shown_address(url)} does not answer: {why}; set BIGBATCH_BROKER, or start Redis"
    return None

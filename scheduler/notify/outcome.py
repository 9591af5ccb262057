"""Why a message could not be sent."""


class SendError(Exception):
    """The message did not arrive, as far as is known; the text has no secret in it."""


class FinalError(SendError):
    """No further attempt can help."""

"""A sentence for what the service could not read of a run's files."""

from contract.api.unread import UnreadView
from contract.lifecycle.unread import Unread


def unread_view(unread: Unread | None) -> UnreadView | None:
    """Return the counts with their sentence; None if all could be read."""
    if unread is None or not unread.is_shown:
        return None
    return UnreadView(
        lines=unread.lines,
        size_bytes=unread.size_bytes,
        folder_gone=unread.folder_gone,
        sentence=_sentence(unread),
    )


def _sentence(unread: Unread) -> str:
    """Return one sentence without a full stop."""
    lines = "1 line" if unread.lines == 1 else f"{unread.lines:,} lines"
    damaged = f"{lines} ({unread.size_bytes:,} bytes) of the run's files could not be read, and are left out"
    gone = "the run's folder was gone while its job was there: what the job wrote after that is not known"
    return "; ".join([*([gone] if unread.folder_gone else []), *([damaged] if unread.lines else [])])

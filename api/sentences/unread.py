"""A sentence for what the service could not read of a run's files."""

from collections.abc import Iterable

from contract.api.unread import UnreadView
from contract.lifecycle.unread import Unread
from contract.metric_names import SLOWEST_RANK, TIME_PARTS, is_of_system


def unread_view(unread: Unread | None, latest: Iterable[str]) -> UnreadView | None:
    """Return the counts with their sentence; None if all could be read. `latest`: the names of the run's series.

    A run that has metrics of its own by now needs no word on another tracker.
    """
    if unread is not None and unread.metrics and any(map(_is_own, latest)):
        unread = unread.model_copy(update={"metrics": None})
    if unread is None or not unread.is_shown:
        return None
    return UnreadView(
        lines=unread.lines,
        size_bytes=unread.size_bytes,
        folder_gone=unread.folder_gone,
        sentence=_sentence(unread),
    )


def with_unreadable(view: UnreadView | None, reason: str | None) -> UnreadView | None:
    """Return the view with a sentence for what cannot be read of the run's folder now; `reason`: None if all can."""
    if reason is None:
        return view
    sentence = f"what the run wrote is shown in part: {reason}"
    if view is None:
        return UnreadView(lines=0, size_bytes=0, folder_gone=False, sentence=sentence)
    return view.model_copy(update={"sentence": f"{view.sentence}; {sentence}"})


def _sentence(unread: Unread) -> str:
    """Return one sentence without a full stop."""
    lines = "1 line" if unread.lines == 1 else f"{unread.lines:,} lines"
    damaged = f"{lines} ({unread.size_bytes:,} bytes) of the run's files could not be read, and are left out"
    gone = "the run's folder was gone while its job was there: what the job wrote after that is not known"
    tracker = [unread.metrics] if unread.metrics else []
    return "; ".join([*([gone] if unread.folder_gone else []), *([damaged] if unread.lines else []), *tracker])


def _is_own(name: str) -> bool:
    """Return whether the program reports the series itself."""
    return name not in (*TIME_PARTS, SLOWEST_RANK) and not is_of_system(name)

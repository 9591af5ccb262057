"""Sentences about the copies of artifacts, and about the object store."""

from datetime import datetime
from typing import NamedTuple

from contract.api.artifacts.views import ArtifactCopy, ObjectStoreState
from contract.lifecycle.artifact import CopyState
from store.mirror.outages import Outage
from store.tables.mirror import MirrorCopy


class ShownStore(NamedTuple):
    """The object store of the settings, and its outage."""

    url: str
    outage: Outage | None


def store_view(shown: ShownStore | None) -> ObjectStoreState | None:
    """Return the state of the object store; None without one."""
    if shown is None:
        return None
    works = shown.outage is None
    return ObjectStoreState(url=shown.url, works=works, sentence=None if works else _outage(shown))


def copy_view(copy: MirrorCopy | None, shown: ShownStore | None) -> ArtifactCopy | None:
    """Return the state of a copy; None for one that waits for an object store that the service does not have."""
    if copy is None or (shown is None and copy.store is None):
        return None
    sentence = _sentence(copy, shown)
    return ArtifactCopy(state=copy.state, store=copy.store, copied_at=copy.copied_at, sentence=sentence)


def _sentence(copy: MirrorCopy, shown: ShownStore | None) -> str:
    match copy.state:
        case CopyState.MIRRORED:
            at = "" if copy.copied_at is None else f" on {_moment(copy.copied_at)}"
            other = "" if shown and shown.url == copy.store else ", which the service's settings do not name now"
            return f"copied to {copy.store}{other}{at} and read back: the hashes are equal"
        case CopyState.FAULTY:
            return f"it has no copy in the object store: {copy.problem}"
        case CopyState.REMOVING:
            return f"its copy in {copy.store} is to be removed"
        case CopyState.WAITING if shown is None:
            return "it waits for its copy, and the service's settings name no object store now"
        case CopyState.WAITING if shown.outage is not None:
            return f"it waits for its copy: {_outage(shown)}"
        case CopyState.WAITING:
            problem = f": {copy.problem}; the service tries again" if copy.problem else ""
            return f"it waits for its copy in {shown.url}{problem}"


def _outage(shown: ShownStore) -> str:
    assert shown.outage is not None
    since, tries = _moment(shown.outage.began_at), shown.outage.tries
    again = _moment(shown.outage.next_try_at)
    count = "1 try" if tries == 1 else f"{tries} tries"
    return f"{shown.url} does not work since {since} ({shown.outage.problem}); {count}, the next one at {again}"


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"

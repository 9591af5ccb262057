"""The mirror tick: copy artifacts into the object store of the settings, and remove copies that are not needed.

A worker claims a copy, and renews the claim while it sends files. A worker that is killed leaves a claim that expires:
another one begins the copy anew. While the store fails, it is tried from time to time.
"""

import logging
import time

from contract.folder.outputs.content import ContentError
from contract.folder.run_folder import RunFolder
from contract.lifecycle.artifact import CopyState
from scheduler.artifacts.copying import Source, copy_artifact
from scheduler.context import Context
from store.mirror import copies, outages
from store.mirror.copies import CLAIM, Claim, DueCopy
from store.mirror.object_store import ObjectStore, StoreError
from store.session import snapshot, transaction
from store.tables.base import now

BUDGET_S = 20.0  # of a tick; the next one goes on
COPIES = 20  # that are read together
RENEW_S = CLAIM.total_seconds() / 6
log = logging.getLogger(__name__)


class LostClaimError(Exception):
    """The copy is another worker's now, or is to be removed."""


def mirror(context: Context) -> None:
    """Copy and remove what is due, until the budget is used or the store fails."""
    store, until = context.object_store, time.monotonic() + BUDGET_S
    while store is not None and time.monotonic() < until:
        with snapshot(context.engine) as db:
            outage = outages.find(db, store.url)
            found = [] if outage and outage.next_try_at > now() else copies.due(db, store.url, COPIES)
        if not found:
            return
        for copy in found:
            context.memory.note_progress("mirror")
            if not _try(context, store, copy):
                return
            if time.monotonic() >= until:
                return


def _try(context: Context, store: ObjectStore, copy: DueCopy) -> bool:
    """Copy or remove one; return False if the store failed."""
    place = copy.place or f"{_folder(context, copy).path.name}/{copy.attempt}/{copy.name}"
    with transaction(context.engine) as db:
        claim = copies.claim(db, copy, store.url, place)
    if claim is None:
        return True
    try:
        if copy.state is CopyState.REMOVING:
            _remove(context, store, claim, place)
        else:
            _copy(context, store, copy, claim, place)
    except StoreError as error:
        with transaction(context.engine) as db:
            outages.record(db, store.url, str(error))
            copies.postpone(db, claim, str(error))
        return False
    with transaction(context.engine) as db:
        outages.end(db, store.url)
    return True


def _remove(context: Context, store: ObjectStore, claim: Claim, place: str) -> None:
    store.remove(place)
    with transaction(context.engine) as db:
        copies.forget(db, claim)


def _copy(context: Context, store: ObjectStore, copy: DueCopy, claim: Claim, place: str) -> None:
    """Copy an artifact and store that it is copied; raise StoreError."""
    assert copy.kind is not None  # a copy that waits has an artifact
    assert copy.path is not None
    assert copy.sha256 is not None
    source = Source(_folder(context, copy).path, copy.path, copy.kind, copy.sha256)
    try:
        digest = copy_artifact(store, source, place, _Renewal(context, claim).renew_if_due)
    except LostClaimError:
        _clean_up(context, store, claim, place)
        return
    except (ContentError, OSError) as error:
        log.warning("the artifact %s of run %d cannot be copied: %s", copy.name, copy.run_id, error)
        with transaction(context.engine) as db:
            copies.count_fault(db, claim, copy.faults, str(error))
        return
    with transaction(context.engine) as db:
        is_mine = copies.finish(db, claim, digest)
    if not is_mine:
        _clean_up(context, store, claim, place)


def _folder(context: Context, copy: DueCopy) -> RunFolder:
    return RunFolder.of(context.runs_folder, copy.run_id, copy.run_key or "")


def _clean_up(context: Context, store: ObjectStore, claim: Claim, place: str) -> None:
    """Remove what this worker has written after another one removed the copy and its row."""
    with snapshot(context.engine) as db:
        is_known = copies.is_known(db, claim.key)
    if not is_known:
        store.remove(place)


class _Renewal:
    """The renewal of a claim while its copy goes on."""

    def __init__(self, context: Context, claim: Claim) -> None:
        self._context, self._claim, self._renewed_at = context, claim, time.monotonic()

    def renew_if_due(self) -> None:
        """Note progress, and renew the claim from time to time; raise LostClaimError if it is lost."""
        self._context.memory.note_progress("mirror")
        if time.monotonic() - self._renewed_at < RENEW_S:
            return
        self._renewed_at = time.monotonic()
        with transaction(self._context.engine) as db:
            if not copies.renew(db, self._claim):
                raise LostClaimError

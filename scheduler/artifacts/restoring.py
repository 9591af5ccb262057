"""Outputs whose files are in the object store alone: put back to where the run wrote them."""

import logging
from collections.abc import Callable, Iterable, Iterator
from enum import Enum

from contract.access.visibility import Visibility
from contract.folder.files.new_content import new_content
from contract.folder.outputs.content import size_of_content
from contract.folder.run_folder import RunFolder
from contract.lifecycle.artifact import ArtifactKind
from scheduler.context import Context
from store.artifacts.artifacts import Output
from store.mirror import copies, outages
from store.mirror.copies import StoredCopy
from store.mirror.manifest import read_file, read_manifest
from store.mirror.object_store import ObjectStore, StoreError
from store.session import snapshot

log = logging.getLogger(__name__)


class Presence(Enum):
    """Whether an output can be used: it is there; it is nowhere; it may be there later."""

    THERE = "there"
    ABSENT = "absent"
    UNAVAILABLE = "unavailable"


def find_or_restore(context: Context, output: Output, progress: Callable[[], None]) -> Presence:
    """Return whether an output is there with its stored size; restore one whose files are in the object store alone."""
    folder = RunFolder.of(context.runs_folder, output.holder_id, output.holder_key)
    size = size_of_content(folder.path, output.path)
    if size == output.size_bytes:
        return Presence.THERE
    with snapshot(context.engine) as db:
        copy = copies.find_complete(db, output.holder_id, output.path)
        is_down = context.object_store is not None and outages.find(db, context.object_store.url) is not None
    if copy is None:
        return Presence.ABSENT
    store = context.object_store
    if size is not None or is_down or store is None or store.url != copy.store:
        return Presence.UNAVAILABLE  # what a person has put in its place is not overwritten
    key = ("restore", output.holder_id, output.path)
    if not context.memory.retries.is_due(key):
        return Presence.UNAVAILABLE  # its bytes may take minutes, for which the other waiting runs would wait again
    try:
        _restore(store, copy, folder, output, context.run_folders, progress)
    except (StoreError, OSError) as error:
        wait_s = context.memory.retries.note_failure(key)
        words = "the output %s of run %d cannot be restored, next try in %.0f s: %s"
        log.warning(words, output.name, output.holder_id, wait_s, error)
        return Presence.UNAVAILABLE
    context.memory.retries.forget(key)
    return Presence.THERE


def _restore(
    store: ObjectStore,
    copy: StoredCopy,
    folder: RunFolder,
    output: Output,
    visibility: Visibility,
    progress: Callable[[], None],
) -> None:
    """Write the files of a copy into the run's folder; each file's hash is compared. Raise StoreError or OSError."""
    manifest = read_manifest(store, copy.place, copy.manifest_sha256)
    with new_content(folder.path, visibility) as content:
        if output.kind is ArtifactKind.FILE:
            (file,) = manifest.files
            content.write("", _noted(read_file(store, copy.place, file), progress))
        else:
            content.make_folder()
            for file in manifest.files:
                content.write(file.path, _noted(read_file(store, copy.place, file), progress))
            for link in manifest.links:
                content.link(link.path, link.target)
        content.move_to(output.path)


def _noted(blocks: Iterable[bytes], progress: Callable[[], None]) -> Iterator[bytes]:
    for block in blocks:
        progress()
        yield block

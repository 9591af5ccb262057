"""The format of an upload: for each content its hash (32 bytes), its length (8 bytes, big endian), and its bytes."""

import time
from concurrent.futures import ThreadPoolExecutor

from contract.snapshot.blob_store import BlobStore, BlobWriter
from contract.snapshot.manifest import MAX_FILE_BYTES

HEADER = 40
MAX_PACK_BYTES = MAX_FILE_BYTES + HEADER  # of one upload
MAX_BLOBS = 50_000
SMALL_BYTES = 1 << 20  # a content up to this size is collected in memory
WRITERS = 16  # a shared file system is slow for one writer and fast for many; a local disk is fastest for one
SLOW_S = 3e-3  # one writer takes longer for a small content: the file system is a shared one


class PackError(ValueError):
    """The upload is torn, too large, or a content differs from its hash."""


def pack_header(blob: str, size: int) -> bytes:
    """Return what precedes a content in a pack."""
    return bytes.fromhex(blob) + size.to_bytes(8, "big")


class PackReader:
    """Stores the contents of a pack as its bytes arrive; a content that has arrived whole stays, whatever follows."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._header, self._small = bytearray(), bytearray()
        self._writer: BlobWriter | None = None  # of a content that is not small
        self._blob: str | None = None  # the content that is arriving
        self._left = self._received = self.blobs = 0
        self._whole: list[tuple[str, bytes]] = []  # small contents that are not written yet
        self._writers = 1

    def feed(self, data: bytes) -> None:
        """Take the next bytes, at most a few megabytes; raise PackError or OSError."""
        self._received += len(data)
        if self._received > MAX_PACK_BYTES:
            raise PackError(f"the upload has more than {MAX_PACK_BYTES:,} bytes: send the contents in several uploads")
        view = memoryview(data)
        try:
            while view:
                view = self._take_header(view) if self._blob is None else self._take_content(view)
        finally:
            self._write_whole()

    def close(self) -> None:
        """End the pack; raise PackError if its last content is incomplete."""
        if self._header:
            raise PackError(f"the upload ends after {len(self._header)} of the {HEADER} bytes before a content")
        if self._blob:
            raise PackError(f"the upload ends {self._left:,} bytes before the end of the content {self._blob}")

    def abandon(self) -> None:
        """Remove the content that is incomplete."""
        if self._writer:
            self._writer.abandon()
            self._writer = None

    def _take_header(self, view: memoryview) -> memoryview:
        room = HEADER - len(self._header)
        self._header += view[:room]
        if len(self._header) == HEADER:
            self._blob, self._left = self._header[:32].hex(), int.from_bytes(self._header[32:], "big")
            self._header.clear()
            self.blobs += 1
            if self._left > MAX_FILE_BYTES or self.blobs > MAX_BLOBS:
                message = f"the upload has a content of {self._left:,} bytes, or more than {MAX_BLOBS:,} contents"
                raise PackError(message)
            if self._left > SMALL_BYTES:
                self._writer = self._store.begin_blob(self._blob)
            elif not self._left:
                self._end_content(self._blob)
        return view[room:]

    def _take_content(self, view: memoryview) -> memoryview:
        assert self._blob
        part, rest = view[: self._left], view[self._left :]
        if self._writer:
            self._writer.write(part)
        else:
            self._small += part
        self._left -= len(part)
        if not self._left:
            self._end_content(self._blob)
        return rest

    def _end_content(self, blob: str) -> None:
        writer, self._writer, self._blob = self._writer, None, None
        if writer is None:
            self._whole.append((blob, bytes(self._small)))
            self._small.clear()
        elif not writer.finish():
            raise _wrong(blob)

    def _write_whole(self) -> None:
        """Write the small contents; raise PackError for one that differs from its hash, after all others."""
        whole, self._whole = self._whole, []
        if not whole:
            return
        parts = [whole[first :: self._writers] for first in range(min(self._writers, len(whole)))]
        began = time.monotonic()
        with ThreadPoolExecutor(len(parts)) as writers:
            wrong = [blob for found in writers.map(self._write_part, parts) for blob in found]
        if time.monotonic() - began > SLOW_S * len(whole):
            self._writers = WRITERS
        if wrong:
            raise _wrong(wrong[0])

    def _write_part(self, part: list[tuple[str, bytes]]) -> list[str]:
        """Write contents; return the hashes of those that differ from their hash."""
        return [blob for blob, content in part if not self._store.write_blob(blob, content)]


def _wrong(blob: str) -> PackError:
    return PackError(f"a content differs from its hash {blob}: the file was changed meanwhile")

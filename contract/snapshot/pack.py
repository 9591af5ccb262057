"""The format of an upload: for each content its hash (32 bytes), its length (8 bytes, big endian), and its bytes."""

from contract.snapshot.blob_store import BlobStore, BlobWriter
from contract.snapshot.manifest import MAX_FILE_BYTES

HEADER = 40
MAX_PACK_BYTES = MAX_FILE_BYTES + HEADER  # of one upload
MAX_BLOBS = 50_000


class PackError(ValueError):
    """The upload is torn, too large, or a content differs from its hash."""


def pack_header(blob: str, size: int) -> bytes:
    """Return what precedes a content in a pack."""
    return bytes.fromhex(blob) + size.to_bytes(8, "big")


class PackReader:
    """Stores the contents of a pack as its bytes arrive; a content that has arrived whole stays, whatever follows."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._header = bytearray()
        self._writer: BlobWriter | None = None
        self._blob, self._left, self._received, self.blobs = "", 0, 0, 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes; raise PackError or OSError."""
        self._received += len(data)
        if self._received > MAX_PACK_BYTES:
            raise PackError(f"the upload has more than {MAX_PACK_BYTES:,} bytes: send the contents in several uploads")
        view = memoryview(data)
        while view or (self._writer and not self._left):
            view = self._take_content(view) if self._writer else self._take_header(view)

    def close(self) -> None:
        """End the pack; raise PackError if its last content is incomplete."""
        if self._header:
            raise PackError(f"the upload ends after {len(self._header)} of the {HEADER} bytes before a content")
        if self._writer:
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
                raise PackError(
                    f"the upload has a content of {self._left:,} bytes, or more than {MAX_BLOBS:,} contents"
                )
            self._writer = self._store.begin_blob(self._blob)
        return view[room:]

    def _take_content(self, view: memoryview) -> memoryview:
        assert self._writer
        part, rest = view[: self._left], view[self._left :]
        self._writer.write(part)
        self._left -= len(part)
        if not self._left:
            writer, self._writer = self._writer, None
            if not writer.finish():
                raise PackError(f"a content differs from its hash {self._blob}: the file was changed meanwhile")
        return rest

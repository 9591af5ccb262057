"""The object store of the settings, through fsspec: whole objects are written, read and removed.

The store's URL and options are the service's own. No message has a value of the options, nor of the credentials that
the store's library takes from the environment.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Self

from contract.folder.bounds import printable, shorten
from contract.settings import Settings

BLOCK_BYTES = 1 << 20
MESSAGE_CHARS = 300
SHOWN = frozenset({"endpoint_url", "region_name"})  # options that a message may have
CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
LEAST_SECRET = 4  # characters: a shorter value would hide every text
# a try ends before another worker may begin one (store/mirror/copies.LEASE)
S3_DEFAULTS = {"config_kwargs": {"connect_timeout": 5, "read_timeout": 20, "retries": {"max_attempts": 1}}}
_IN_URL = re.compile(r"(?<=//)[^/@\s]+@|\?[^\s'\"]+")  # a name and password, and a signature


class StoreError(Exception):
    """The object store failed; the message says how, without secrets."""


class ObjectStore:
    """Objects below one URL."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        """Open the store without a connection; raise ValueError if its library is absent or refuses the options."""
        self.url = url
        self._secrets = sorted({*_texts(options), *filter(None, map(os.environ.get, CREDENTIALS))}, key=len)
        from fsspec.core import url_to_fs  # here: a service without an object store does not load it

        defaults = _defaults(url.partition("://")[0])
        try:
            self._files, self._root = url_to_fs(url, **{**defaults, **options}, skip_instance_cache=True)
        except ImportError as error:
            extra = " (pip install 'bigbatch[s3]')" if url.startswith("s3") else ""
            raise ValueError(f"BIGBATCH_ARTIFACT_STORE is {url}, whose package is not installed{extra}") from error
        except Exception as error:
            raise ValueError(f"BIGBATCH_ARTIFACT_STORE is {url}: {self._describe(error)}") from None

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """Return the object store of the settings; None without one. Raise ValueError."""
        if not settings.artifact_store:
            return None
        return cls(settings.artifact_store, json.loads(settings.artifact_store_options or "{}"))

    def write(self, name: str, blocks: Iterable[bytes]) -> None:
        """Write an object; raise StoreError, or what `blocks` raises."""
        with self._reported():
            file = self._files.open(f"{self._root}/{name}", "wb")
        try:
            for block in blocks:
                with self._reported():
                    file.write(block)
            with self._reported():
                file.close()
        except BaseException:
            _discard(file)
            raise

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the blocks of an object; raise StoreError."""
        with self._reported():
            file = self._files.open(f"{self._root}/{name}", "rb")
        try:
            while True:
                with self._reported():
                    block = file.read(BLOCK_BYTES)
                if not block:
                    return
                yield block
        finally:
            file.close()

    def remove(self, place: str) -> None:
        """Remove every object below a place; do nothing if there is none. Raise StoreError."""
        try:
            with self._reported():
                self._files.rm(f"{self._root}/{place}", recursive=True)
        except StoreError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise

    def check(self) -> None:
        """Raise StoreError if the store does not answer, or has no such place."""
        with self._reported():
            self._files.exists(self._root)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise StoreError(self._describe(error)) from error

    def _describe(self, error: Exception) -> str:
        if isinstance(error, FileNotFoundError):
            return "the bucket, the folder or the object is not there"
        text = _IN_URL.sub("", str(error)) or type(error).__name__
        for secret in reversed(self._secrets):  # the longest first: one may be a part of another
            text = text.replace(secret, "***")
        kind = "access is denied: " if isinstance(error, PermissionError) else ""
        return f"{kind}{printable(shorten(' '.join(text.split()), MESSAGE_CHARS))}"


def _discard(file: Any) -> None:
    """Give up an object that is not complete; where a part of it stays, the next try overwrites it."""
    from fsspec.spec import AbstractBufferedFile

    with suppress(Exception):
        if isinstance(file, AbstractBufferedFile):
            file.discard()  # the parts of an upload, which a store keeps and charges for
            file.closed = True
        else:
            file.close()


def _defaults(protocol: str) -> dict[str, Any]:
    if protocol in ("s3", "s3a"):
        return {**S3_DEFAULTS, "use_listings_cache": False}
    return {"auto_mkdir": True} if protocol in ("file", "local") else {}


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in options that no message may have."""
    if isinstance(value, str):
        if len(value) >= LEAST_SECRET:
            yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in SHOWN:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)

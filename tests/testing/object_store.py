"""An S3-compatible server (moto), started as a process of its own, and object stores that fail when a test wants it."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any
from urllib.error import URLError

import boto3

from store.mirror.object_store import ObjectStore, StoreError

BUCKET = "artifacts"
KEY, SECRET = "access-key-of-tests", "secret-key-of-tests"
PATIENCE_S = 120.0


class S3Server:
    """The server; what it stores is lost with its process."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options of fsspec, as a person sets them."""
        return {"key": KEY, "secret": SECRET, "endpoint_url": self.url, "client_kwargs": {"region_name": "us-east-1"}}

    def start(self) -> None:
        """Start the server with an empty bucket."""
        command = [sys.executable, "-m", "moto.server", "--port", str(self.port), "--host", "127.0.0.1"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert self._process.poll() is None, "the server has ended"
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.05)
        self.client().create_bucket(Bucket=BUCKET)

    def kill(self) -> None:
        """End the server at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self) -> Any:
        """Return a client of Amazon's own library."""
        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
        return boto3.client("s3", endpoint_url=self.url, **keys)

    def objects(self) -> dict[str, bytes]:
        """Return every object of the bucket."""
        client = self.client()
        found = client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        names = [entry["Key"] for entry in found]
        return {name: client.get_object(Bucket=BUCKET, Key=name)["Body"].read() for name in names}

    def _answers(self) -> bool:
        with suppress(URLError, OSError), urllib.request.urlopen(f"{self.url}/moto-api/", timeout=5):
            return True
        return False


class FaultyStore(ObjectStore):
    """An object store in memory that ends the process, in effect, at the n-th call; or fails; or changes bytes."""

    def __init__(self, url: str, *, die_at: int = 0) -> None:
        super().__init__(url, {})
        self.calls, self.die_at, self.is_down, self.corrupt = 0, die_at, False, ""

    def write(self, name: str, blocks: Iterable[bytes]) -> None:
        """Write an object; the fault comes after the first block."""
        self._step()

        def with_fault() -> Iterator[bytes]:
            for block in blocks:
                yield block
                self._step()

        super().write(name, with_fault())

    def read(self, name: str) -> Iterator[bytes]:
        """Read an object, with its first byte changed where the test wants that."""
        self._step()
        for block in super().read(name):
            yield bytes([block[0] ^ 1]) + block[1:] if self.corrupt and self.corrupt in name else block

    def remove(self, place: str) -> None:
        """Remove what is below a place."""
        self._step()
        super().remove(place)
        self._step()

    def _step(self) -> None:
        self.calls += 1
        if self.calls == self.die_at:
            raise KeyboardInterrupt
        if self.is_down:
            raise StoreError("connection refused")

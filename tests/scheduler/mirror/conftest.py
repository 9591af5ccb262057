"""A worker with an object store: in memory, and on a real S3-compatible server."""

from collections.abc import Iterator
from dataclasses import replace
from secrets import token_hex

import pytest

from scheduler.context import Context
from store.mirror.object_store import ObjectStore
from tests.testing.object_store import BUCKET, FaultyStore, S3Server


@pytest.fixture
def faulty() -> FaultyStore:
    return FaultyStore(f"memory://{token_hex(4)}")


@pytest.fixture
def mirrored(context: Context, faulty: FaultyStore) -> Context:
    """A worker whose object store is in memory."""
    return replace(context, object_store=faulty)


@pytest.fixture
def s3() -> Iterator[S3Server]:
    server = S3Server()
    server.start()
    yield server
    server.kill()


@pytest.fixture
def on_s3(context: Context, s3: S3Server) -> Context:
    """A worker whose object store is the S3-compatible server."""
    return replace(context, object_store=ObjectStore(f"s3://{BUCKET}/of the team", s3.options))

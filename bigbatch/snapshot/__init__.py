"""Code snapshots: the tree of a folder as it is, sent to the service."""

from bigbatch.snapshot.take import SnapshotRef, take_snapshot

__all__ = ["SnapshotRef", "take_snapshot"]

"""The errors of taking a snapshot."""

from bigbatch.errors import BigbatchError


class SnapshotError(BigbatchError):
    """The folder cannot become a snapshot."""

    exit_code = 2


class FileChangedError(SnapshotError):
    """A file changed while it was sent; another try takes the new content."""

"""ShardError: tar files or an index that are no whole data set."""


class ShardError(Exception):
    """A tar file or the index is missing, torn, or does not fit the rest; no bad image, so it ends the run."""

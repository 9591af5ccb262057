"""Classification of file-system errors: transient (disk full, file server away) or permanent."""

import errno

PERMANENT_ERRNOS = (
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.EINVAL,
    errno.E2BIG,
)


def is_transient(error: OSError) -> bool:
    """Return whether the failed operation may succeed later."""
    return error.errno not in PERMANENT_ERRNOS

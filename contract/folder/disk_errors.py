"""Which errors of a file system may pass: disks are cleared, file servers come back; what is in the way stays."""

import errno

FOR_EVER = (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.E2BIG)


def may_pass(error: OSError) -> bool:
    """Whether what failed may be tried again later."""
    return error.errno not in FOR_EVER

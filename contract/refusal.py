"""The end of a process that cannot start: one sentence on standard error, and an exit code that says there is one."""

import os
import sys
from typing import NoReturn

REFUSED = os.EX_CONFIG  # the last line of the output is the reason


def refuse(reason: str) -> NoReturn:
    """End this process because of wrong settings, or of a part that does not answer."""
    print(reason, file=sys.stderr, flush=True)
    sys.exit(REFUSED)

"""The project's package `runfiles`, under a name that no module of a user's program has.

It is beside the package `bigbatch`, or beside the folder of it among the tools that a program gets. The path is not
extended for it: `import runfiles` of a program finds the program's own.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runfiles.event_lines import torn_end
    from runfiles.history import ResumptionFinder, read_last_step
else:
    _BESIDE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __path__ = [os.path.join(_BESIDE, "runfiles"), os.path.join(os.path.dirname(_BESIDE), "runfiles")]

    from bigbatch.running.runfiles.event_lines import torn_end
    from bigbatch.running.runfiles.history import ResumptionFinder, read_last_step

__all__ = ["ResumptionFinder", "read_last_step", "torn_end"]

"""`python agent FOLDER [--attempt N]`: carry out an attempt of a run of kind program."""

from __future__ import annotations

import os
import sys

if tuple(sys.version_info) < (3, 9):  # before any other import of the agent, so that an older Python says why
    sys.exit(f"bigbatch: the jobs need Python 3.9 or newer, and {sys.executable} is {sys.version.split()[0]}")
if not __package__:  # the folder was started, and its parent is not on the path
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from agent.arguments import main

if __name__ == "__main__":
    main()

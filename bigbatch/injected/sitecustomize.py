"""The file that Python runs at its start: run the site's own sitecustomize, then start the time split of a run's rank.

The tools folder of a run has this file on PYTHONPATH. An error here must not reach the program.
"""

import importlib.machinery
import importlib.util
import os
import sys


def run_next() -> None:
    """Run the next sitecustomize on the path, which this file hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def start() -> None:
    """Start the time split if this process belongs to a run."""
    if os.environ.get("BIGBATCH_RUN_FOLDER"):
        from bigbatch.injected.start import start_in_program

        start_in_program()


for step in (run_next, start):
    try:
        step()
    except Exception:  # a broken sitecustomize of the site ends no program without this file either
        if os.environ.get("BIGBATCH_DEBUG"):
            raise

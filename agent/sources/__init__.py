"""Sources of a program's metrics besides `bigbatch.log`: TensorBoard's event files, JSON lines, and the output.

The agent of rank 0 reads them while they grow, and appends what they hold to the run's events.
"""

from __future__ import annotations

from agent.sources.sources import Sources

__all__ = ["Sources"]

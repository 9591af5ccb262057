"""Exit statuses of a job's processes by which the scheduler knows how an attempt ended."""

from __future__ import annotations

REFUSED = 3  # the attempt belongs to another job, or a later attempt has begun
PAUSED = 4  # a rank saved a checkpoint and ended on request

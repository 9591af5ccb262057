"""Health check of worker and clock: exit 0 when the cluster reports are recent and every tick succeeds.

A recent report needs the clock, the broker, the worker and the database, so the check fails when one of them fails.
"""

import sys
from datetime import UTC, datetime, timedelta

from contract.process_settings import read_process_settings
from store import clusters, ticks
from store.session import engine_for, snapshot

MAX_AGE = timedelta(seconds=60)  # the clock triggers a report every few seconds

with snapshot(engine_for(read_process_settings().database_url())) as db:
    seen, late = max((row.asked_at for row in clusters.reports(db)), default=None), ticks.late(db)
if seen is None or datetime.now(UTC) - seen > MAX_AGE:
    sys.exit(f"the newest cluster report is from: {seen or 'never'}")
if late:
    sys.exit(f"no success lately: {', '.join(tick.name for tick in late)}")

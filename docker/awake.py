"""Health check of worker and clock: exit 0 when the clusters were looked at lately.

That takes the clock, the broker, the worker and the database: when one of them fails, all who need it say so.
"""

import sys
from datetime import UTC, datetime, timedelta

from contract.settings import Settings
from store import clusters
from store.session import engine_for, snapshot

SILENCE = timedelta(seconds=60)  # the clock asks for a look every few seconds

with snapshot(engine_for(Settings().database_url())) as db:
    seen = max((row.asked_at for row in clusters.all_of(db)), default=None)
if seen is None or datetime.now(UTC) - seen > SILENCE:
    sys.exit(f"the clusters were last looked at: {seen or 'never'}")

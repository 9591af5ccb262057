"""Every table of the service, by topic. An import of any of them loads all, so the metadata is complete.

An importer names the module of its table. Migrations follow the tables; a test fails when the two differ.
"""

from store.tables import (  # noqa: F401  # loaded for the metadata, not exported
    artifacts,
    clusters,
    experiments,
    mirror,
    notify,
    points,
    runs,
    saved,
    schedules,
    searches,
    service,
    snapshots,
    steps,
)

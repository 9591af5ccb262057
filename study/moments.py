"""The moments of a cron expression in a time zone.

A time of day that a clock change leaves out counts at the end of the gap, and one that it repeats counts once. Moments
of every hour or minute follow the real time. The library cronsim follows Debian's cron in this.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError


def check_cron(expression: str, zone: str) -> str | None:
    """Return why a cron expression or a time zone cannot be used; None if both can."""
    try:
        place = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return f"there is no time zone {zone}; an example is Europe/Berlin"
    try:
        if next(CronSim(expression, datetime(2026, 1, 1, tzinfo=place)), None) is None:
            return "no moment ever fits the expression"
    except CronSimError as error:
        return f"{error}: five fields are needed, minute, hour, day of the month, month, day of the week"
    return None


def moments_after(expression: str, zone: str, after: datetime) -> Iterator[datetime]:
    """Yield the moments after a moment, in UTC."""
    for moment in CronSim(expression, after.astimezone(ZoneInfo(zone))):
        yield moment.astimezone(UTC)

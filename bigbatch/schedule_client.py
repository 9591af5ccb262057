"""The client's methods for schedules and triggers."""

import json
from collections.abc import Mapping
from typing import Any

from bigbatch.connection import Connection
from contract.api.schedules import NewSchedule, ScheduleChange, ScheduleDetail, Schedules, ScheduleView
from contract.lifecycle.schedule import Missed, Overlap

PATH = "/schedules"


class ScheduleClient:
    """The methods; `Client` has the connection."""

    _connection: Connection

    def schedules(self) -> list[ScheduleView]:
        """Return the schedules, in the order of their names."""
        return self._connection.get(PATH, Schedules).schedules

    def schedule(self, schedule_id: int) -> ScheduleDetail:
        """Return one schedule with its spec and its newest starts."""
        return self._connection.get(f"{PATH}/{schedule_id}", ScheduleDetail)

    def add_schedule(
        self,
        name: str,
        experiment: Mapping[str, Any],
        *,
        cron: str | None = None,
        time_zone: str = "UTC",
        path: str | None = None,
        missed: Missed = Missed.RUN_ONCE,
        overlap: Overlap = Overlap.SKIP,
    ) -> ScheduleView:
        """Submit an experiment at the moments of `cron`, or when the file at `path` appears or changes."""
        when = {"cron": cron, "time_zone": time_zone, "path": path, "missed": missed, "overlap": overlap}
        new = NewSchedule.model_validate({"name": name, "experiment": dict(experiment), **when})
        return self._connection.post(PATH, ScheduleView, content=json.dumps(new.model_dump(mode="json")).encode())

    def pause_schedule(self, schedule_id: int, *, paused: bool = True) -> ScheduleView:
        """Pause a schedule; `paused=False` lets it go on."""
        change = ScheduleChange(paused=paused)
        return self._connection.change("PATCH", f"{PATH}/{schedule_id}", ScheduleView, change)

    def delete_schedule(self, schedule_id: int) -> None:
        """Delete a schedule; its experiments stay."""
        self._connection.delete(f"{PATH}/{schedule_id}")

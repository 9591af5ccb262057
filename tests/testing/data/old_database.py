"""A database of schema 0007 with rows that the last version of that schema wrote, and its run folders."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from contract.folder.run_folder import RunFolder
from migrations.commands import upgrade
from store.session import engine_for

DATA = Path(__file__).with_name("database_0007.json")
Row = dict[str, Any]


class OldDatabase(NamedTuple):
    url: str
    runs_folder: Path
    rows: dict[str, list[Row]]  # by table
    jobs: dict[str, dict[str, str]]  # by cluster: the jobs' names by id

    def names(self) -> dict[int, str]:
        """Return the name of each run's experiment."""
        of = {row["id"]: row["name"] for row in self.rows["experiments"]}
        return {run["id"]: of[run["experiment_id"]] for run in self.rows["runs"]}

    def of_run(self, table: str, run_id: int) -> list[Row]:
        """Return the rows of a run."""
        return [row for row in self.rows[table] if row["run_id"] == run_id]


def create_old_database(url: str, runs_folder: Path) -> OldDatabase:
    """Create the tables of schema 0007 at `url`; insert the stored rows and write the files of the run folders."""
    upgrade(url, "0007")
    stored = json.loads(DATA.read_text())
    rows = {name: _rows(name, table, stored["specs"]) for name, table in stored["tables"].items()}
    engine = engine_for(url)
    tables = sa.MetaData()
    tables.reflect(engine)
    with engine.connect().execution_options(writes=True) as connection:
        for table in tables.sorted_tables:
            for row in rows.get(table.name, ()):
                moments = {name: datetime.fromisoformat(row[name]) for name in row if _is_moment(table.c[name])}
                row.update({name: moment.replace(tzinfo=UTC) for name, moment in moments.items()})
                connection.execute(table.insert(), row)
            if engine.dialect.name == "postgresql" and "id" in table.c:
                sequence = f"pg_get_serial_sequence('{table.name}', 'id')"
                connection.execute(sa.text(f"SELECT setval({sequence}, (SELECT max(id) FROM {table.name}))"))
        connection.commit()
    for row in rows["runs"]:
        (RunFolder.of(runs_folder, row["id"], row["key"]).path / "attempts").mkdir(parents=True)
    for name, text in stored["files"].items():
        (runs_folder / name).write_text(text)
    return OldDatabase(url, runs_folder, rows, stored["jobs"])


def _rows(name: str, table: list[Any], specs: list[Row]) -> list[Row]:
    if isinstance(table[0], list):  # the columns, then a list for each row
        table = [dict(zip(table[0], values, strict=True)) for values in table[1:]]
    rows = [{column: value for column, value in row.items() if value is not None} for row in table]
    if name == "runs":
        return [row | {"spec": specs[row["spec"]]} for row in rows]
    if name == "experiments":
        return [row | {"spec": row["spec"] | {"base": specs[row["spec"]["base"]]}} for row in rows]
    return rows


def _is_moment(column: "sa.Column[Any]") -> bool:
    return isinstance(column.type, sa.DateTime)

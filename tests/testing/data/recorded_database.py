"""A database as the last version with 41 migrations left it, and its run folders."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from contract.folder.run_folder import RunFolder
from store.session import engine_for

HERE = Path(__file__).parent
REVISION = "0041"
Row = dict[str, Any]


class RecordedDatabase(NamedTuple):
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


def create_recorded_tables(url: str) -> None:
    """Create the tables as they were recorded, without rows, in the empty database at `url`."""
    engine = engine_for(url)
    text = (HERE / f"schema_{REVISION}.{engine.dialect.name}.sql").read_text()
    with engine.connect().execution_options(writes=True) as connection:
        for statement in text.split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement)
        connection.execute(sa.text("INSERT INTO alembic_version VALUES (:at)"), {"at": REVISION})
        connection.commit()


def create_recorded_database(url: str, runs_folder: Path) -> RecordedDatabase:
    """Create the recorded tables at `url`; insert the recorded rows and write the files of the run folders."""
    create_recorded_tables(url)
    stored = json.loads((HERE / f"database_{REVISION}.json").read_text())
    rows = {name: _rows(name, table, stored["specs"]) for name, table in stored["tables"].items()}
    _insert(engine_for(url), rows)
    for row in rows["runs"]:
        (RunFolder.of(runs_folder, row["id"], row["key"]).path / "attempts").mkdir(parents=True)
    for name, text in stored["files"].items():
        (runs_folder / name).write_text(text)
    return RecordedDatabase(url, runs_folder, rows, stored["jobs"])


def _insert(engine: sa.Engine, rows: Mapping[str, list[Row]]) -> None:
    """Insert the rows, those of jobs after the runs that name them; give PostgreSQL's next ids after them."""
    tables = sa.MetaData()
    tables.reflect(engine, only=list(rows))
    runs = tables.tables["runs"]
    with engine.connect().execution_options(writes=True) as connection:
        for name, of_table in rows.items():
            table = tables.tables[name]
            for row in of_table:
                row.update({column: _value(table.c[column], value) for column, value in row.items()})
                connection.execute(table.insert(), {one: row[one] for one in row if one != "current_job_id"})
            if engine.dialect.name == "postgresql" and "id" in table.c:
                sequence = f"pg_get_serial_sequence('{name}', 'id')"
                connection.execute(sa.text(f"SELECT setval({sequence}, (SELECT max(id) FROM {name}))"))
        for row in rows["runs"]:
            job = {"current_job_id": row.get("current_job_id")}
            connection.execute(sa.update(runs).where(runs.c.id == row["id"]).values(job))
        connection.commit()


def _value(column: "sa.Column[Any]", value: Any) -> Any:
    if isinstance(column.type, sa.DateTime):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    if isinstance(column.type, sa.LargeBinary):
        return bytes.fromhex(value)
    return bool(value) if isinstance(column.type, sa.Boolean) else value


def _rows(name: str, table: list[Any], specs: list[Row]) -> list[Row]:
    if isinstance(table[0], list):  # the columns, then a list for each row
        table = [dict(zip(table[0], values, strict=True)) for values in table[1:]]
    rows = [{column: value for column, value in row.items() if value is not None} for row in table]
    if name == "runs":
        return [row | {"spec": specs[row["spec"]]} for row in rows]
    if name == "experiments":
        return [row | {"spec": row["spec"] | {"base": specs[row["spec"]["base"]]}} for row in rows]
    return rows

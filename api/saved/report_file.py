"""A report as one file: HTML that needs no other file, or Markdown; pictures and their data are inside."""

import re
from html import escape

from markdown_it import MarkdownIt
from sqlalchemy.orm import Session

from api.run_table.language import parse_name
from contract.api.run_table import Cell
from contract.api.saved.reports import PictureBlock, ReportDetail, RunsBlock, TextBlock
from store.run_table.fields import find_column
from store.run_table.page import Listed, cells_of
from store.run_table.query import QueryError
from store.tables.runs import Run

STYLE = """
:root { color-scheme: light dark; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.6 system-ui, sans-serif; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid #8886; text-align: left; }
pre { overflow: auto; max-height: 20rem; padding: 0.8rem; background: #8882; font-size: 13px; }
figcaption, footer { color: #777; font-size: 14px; }
"""
# the page runs no script and loads nothing
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
Table = tuple[list[str], list[list[str]]]


def html_of(db: Session, report: ReportDetail) -> str:
    """Return the report as one HTML page."""
    parts = []
    for block in report.content:
        match block.content:
            case TextBlock(markdown=text):
                parts.append(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))
            case RunsBlock() as runs:
                parts.append(f"<h2>{escape(runs.title)}</h2>\n{_html_table(_runs_table(db, runs))}")
            case PictureBlock() as picture:
                parts.append(_html_picture(picture))
    body = "\n".join(parts)
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(report.title)}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{escape(report.title)}</h1>\n{body}\n<footer>{_signature(report)}</footer></body></html>\n"
    )


def markdown_of(db: Session, report: ReportDetail) -> str:
    """Return the report as Markdown; data of pictures are blocks of comma-separated values."""
    parts = [f"# {_one_line(report.title)}"]
    for block in report.content:
        match block.content:
            case TextBlock(markdown=text):
                parts.append(text.strip())
            case RunsBlock() as runs:
                parts.append(f"## {_one_line(runs.title)}\n\n{_markdown_table(_runs_table(db, runs))}")
            case PictureBlock() as picture:
                title = _one_line(picture.title)
                parts.append(f"## {title}\n\n![{title}]({picture.image})")
                if picture.run_ids:
                    parts.append(f"Runs: {', '.join(map(str, picture.run_ids))}")
                if picture.csv:
                    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", picture.csv)), default=0))
                    parts.append(f"{fence}csv\n{picture.csv.rstrip()}\n{fence}")
    return "\n\n".join([*parts, f"*{_signature(report)}*"]) + "\n"


def _signature(report: ReportDetail) -> str:
    by = f" by {escape(report.owner)}" if report.owner else ""
    return f"Bigbatch report {report.id}{by}, {report.updated_at:%Y-%m-%d %H:%M} UTC"


def _html_picture(picture: PictureBlock) -> str:
    title = escape(picture.title)
    runs = f"Runs {', '.join(map(str, picture.run_ids))}" if picture.run_ids else ""
    data = f"<details><summary>Data</summary><pre>{escape(picture.csv)}</pre></details>" if picture.csv else ""
    return (
        f'<figure><h2>{title}</h2><img alt="{title}" src="{escape(picture.image)}">'
        f"<figcaption>{runs}</figcaption>{data}</figure>"
    )


def _html_table(table: Table) -> str:
    heads, rows = table
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>"


def _markdown_table(table: Table) -> str:
    heads, rows = table
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(
        f"| {' | '.join(_one_line(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def _runs_table(db: Session, block: RunsBlock) -> Table:
    """Return the table of the runs; a deleted run has only its id, and a field that no run has is empty."""
    found = db.query(Run.id, Run.experiment_id, Run.state).where(Run.id.in_(block.run_ids), Run.deleted_at.is_(None))
    runs = {row.id: row for row in found}
    names, fields = [], []
    for name in block.columns:
        try:
            fields.append(find_column(db, parse_name(name)))
        except QueryError:
            continue
        names.append(name)
    cells = cells_of(db, [Listed(row.id, row.experiment_id) for row in runs.values()], fields)
    rows = [
        [str(run_id), str(runs[run_id].state), *map(_text, cells[run_id])]
        if run_id in runs
        else [str(run_id), "deleted", *[""] * len(names)]
        for run_id in block.run_ids
    ]
    return ["run", "state", *names], rows


def _text(value: Cell) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


def _one_line(text: str) -> str:
    return " ".join(text.split())

"""The answer of an export: a stream of bytes that are made as the client takes them."""

from collections.abc import Iterable, Iterator, Sequence

from fastapi.responses import StreamingResponse

from api.exports.formats import (
    MEDIA_TYPES,
    Block,
    CsvWriter,
    ExportColumn,
    ExportFormat,
    JsonLinesWriter,
    TableWriter,
)
from api.exports.parquet import ParquetWriter
from api.http.statuses import Responses, problems

LEAST_BYTES = 1 << 16  # of a part of the answer
WRITERS: dict[ExportFormat, type[TableWriter]] = {
    ExportFormat.CSV: CsvWriter,
    ExportFormat.JSONL: JsonLinesWriter,
    ExportFormat.PARQUET: ParquetWriter,
}
EXPORT: Responses = {
    200: {
        "description": "The table in the format.",
        "content": {media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()},
    },
    **problems(422, 503),
}


def stream(
    form: ExportFormat, name: str, columns: Sequence[ExportColumn], blocks: Iterable[Block]
) -> StreamingResponse:
    """Return the answer with the table of the blocks; raise Invalid for a format that this service lacks."""
    writer = WRITERS[form](columns)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form}"'}
    return StreamingResponse(_parts(writer, blocks), media_type=MEDIA_TYPES[form], headers=headers)


def _parts(writer: TableWriter, blocks: Iterable[Block]) -> Iterator[bytes]:
    waiting = bytearray()
    for block in blocks:
        waiting += writer.write(block)
        if len(waiting) >= LEAST_BYTES:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting + writer.end())

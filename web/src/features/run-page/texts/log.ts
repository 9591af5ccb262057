/** GET /runs/{id}/log: the tail of a run's log, or its lines that match; polls append new lines, a click earlier ones. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { LogLevel, LogPart } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";

const TAIL_BYTES = 65_536;
const MOST_BYTES = 1_000_000; // of a part: the service sends no more
const MAX_CHARACTERS = 1_000_000; // a longer text makes scrolling slow

/** What a line must have; without any of it the log is shown as it is. */
export interface LogQuery {
  rank?: number;
  search?: string;
  level?: LogLevel;
}

export interface Log {
  text: string;
  start: number; // the byte at which `text`, or the search, begins
  next: number;
  size: number; // of the log
  namesRanks: boolean; // of a search: whether lines name their rank
}

export function isSearch(query: LogQuery): boolean {
  return Object.values(query).some((value) => value !== undefined);
}

/** Return the log; with `trims` a log that is too long loses its oldest lines. */
export function useLog(runId: number, live: boolean, trims: boolean, query: LogQuery) {
  const cache = useQueryClient();
  const pollInterval = usePollInterval();
  const key = isSearch(query) ? keys.runLogSearch(runId, query) : keys.runLog(runId);
  const newest = isSearch(query) ? searchNewest : fetchTail;
  const tail = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => newest({ runId, query, signal }, cache.getQueryData<Log>(key), trims),
    refetchInterval: pollInterval(live),
  });
  const earlier = useMutation({
    mutationFn: (log: Log) => (isSearch(query) ? searchEarlier : fetchEarlier)({ runId, query }, log),
    onSuccess: (log) => cache.setQueryData(key, log),
  });
  return { log: tail.data, error: tail.error, earlier };
}

interface Request {
  runId: number;
  query: LogQuery;
  signal?: AbortSignal;
}

async function fetchTail(request: Request, log: Log | undefined, trims: boolean): Promise<Log> {
  const part = await read(request, { offset: log?.next ?? -TAIL_BYTES, limit: TAIL_BYTES });
  if (log && part.offset >= log.next) return appended(log, part, trims);
  // The first part, or a log that became shorter, since another log replaced it.
  const tail = logOf(part);
  return hasWholeLine(part.text) ? tail : fetchEarlier(request, tail);
}

/** Return the log with the part before it, which is larger where a line is longer than the part. */
async function fetchEarlier(request: Request, log: Log): Promise<Log> {
  let [text, start] = ["", log.start];
  for (let size = TAIL_BYTES; start > 0 && size <= MOST_BYTES && !hasWholeLine(text); size *= 4) {
    const offset = Math.max(0, start - size);
    const part = await read(request, { offset, limit: start - offset });
    if (part.next <= part.offset) break; // the log became shorter
    [text, start] = [part.text + text, part.offset];
  }
  return { ...log, text: text + log.text, start };
}

async function searchEarlier(request: Request, log: Log): Promise<Log> {
  const part = await read(request, { before: log.start });
  const namesRanks = log.namesRanks || part.names_ranks === true;
  return { ...log, text: part.text + log.text, start: part.offset, namesRanks };
}

async function searchNewest(request: Request, log: Log | undefined, trims: boolean): Promise<Log> {
  if (!log) return logOf(await read(request, {}));
  const part = await read(request, { offset: log.next });
  if (part.size < log.next) return logOf(await read(request, {})); // replaced by another log
  // More lines than one answer has: those between are left to a search for earlier lines.
  return part.offset > log.next ? logOf(part) : appended(log, part, trims);
}

function logOf(part: LogPart): Log {
  const { text, offset, next, size } = part;
  return { text, start: offset, next, size, namesRanks: part.names_ranks === true };
}

function appended(log: Log, part: LogPart, trims: boolean): Log {
  const namesRanks = log.namesRanks || part.names_ranks === true;
  const grown = { ...log, text: log.text + part.text, next: part.next, size: part.size, namesRanks };
  if (!part.text) return part.next === log.next ? log : grown;
  return trims ? trimLog(grown, typeof part.names_ranks === "boolean") : grown;
}

/** Return the log without the oldest lines that exceed the limit; where a search begins does not depend on its lines. */
function trimLog(log: Log, isFound: boolean): Log {
  const surplus = log.text.length - MAX_CHARACTERS;
  if (surplus <= 0) return log;
  const end = log.text.indexOf("\n", surplus);
  const cut = log.text.slice(0, end < 0 ? surplus : end);
  const start = isFound ? log.start : log.start + byteLength(cut);
  return { ...log, text: log.text.slice(cut.length), start };
}

/** Return the length of a text in bytes, the unit of the API. */
function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

interface Range {
  offset?: number;
  before?: number;
  limit?: number;
}

function read({ runId, query, signal }: Request, range: Range) {
  const params = { path: { run_id: runId }, query: { ...range, ...query } };
  return body(client.GET("/api/v1/runs/{run_id}/log", { params, ...(signal ? { signal } : {}) }));
}

export const MOST_OF_LINE = 8192; // characters; a longer line is cut, as in a search
const LABEL = /^ {0,8}\d{1,9}: ?/; // of a rank, as srun --label and the agent print it before the first frame

/**
 * The text of a log as a terminal shows it: of a line that was overwritten its last frame, and no line without end.
 *
 * Return the lines of a part of a log, as they are shown. `isCut`: the part may begin within a line. `hasLabels`: the
 * number at the beginning of a line is its rank.
 */
export function logText(part: string, { isCut, hasLabels }: { isCut: boolean; hasLabels: boolean }): string {
  const lines = part.split("\n");
  const end = lines.at(-1) === "" ? lines.pop() : undefined;
  const [first = "", ...others] = lines;
  const shown = others.map((line) => shortened(lastFrame(line, hasLabels)));
  if (!isCut) shown.unshift(shortened(lastFrame(first, hasLabels)));
  else if (isOverwritten(first)) shown.unshift(shortened(lastFrame(first, false)));
  else if (!others.length) shown.unshift(endOf(first));
  return shown.join("\n") + (end === undefined ? "" : "\n");
}

/** Return whether a part that may begin within a line has a whole line. */
function hasWholeLine(part: string): boolean {
  const end = part.indexOf("\n");
  return end >= 0 && end < part.length - 1;
}

function lastFrame(line: string, hasLabels: boolean): string {
  const text = withoutEnd(line);
  const at = text.lastIndexOf("\r");
  if (at < 0) return text;
  const label = (hasLabels && LABEL.exec(text.slice(0, 24))?.[0]) || "";
  return label + text.slice(at + 1);
}

function isOverwritten(line: string): boolean {
  return withoutEnd(line).includes("\r");
}

/** Return a line without the carriage returns at its end: nothing has overwritten it yet. */
function withoutEnd(line: string): string {
  return line.replace(/\r+$/, "");
}

function shortened(line: string): string {
  if (line.length <= MOST_OF_LINE) return line;
  return `${line.slice(0, MOST_OF_LINE)} … [${formatCount(line.length - MOST_OF_LINE)} more characters]`;
}

/** Return the last characters of a line whose beginning is not known. */
function endOf(line: string): string {
  const text = withoutEnd(line).replace(/^\uFFFD+/, ""); // a character that is cut in two
  return `[the beginning of this line is not shown] … ${text.slice(-MOST_OF_LINE)}`;
}

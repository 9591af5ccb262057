/** GET /runs/{id}/log: the tail of a run's log; each poll appends new lines, and earlier parts load on demand. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { pollInterval } from "@/shared/api/polling";

const TAIL_BYTES = 65_536;
const MAX_CHARACTERS = 1_000_000; // a longer text makes scrolling slow

export interface Log {
  text: string;
  start: number; // the byte at which `text` begins
  next: number;
}

/** Return the log; with `trims` a log that is too long loses its oldest lines. */
export function useLog(runId: number, live: boolean, trims: boolean) {
  const cache = useQueryClient();
  const key = keys.runLog(runId);
  const tail = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => fetchTail(runId, cache.getQueryData<Log>(key), trims, signal),
    refetchInterval: pollInterval(live),
  });
  const earlier = useMutation({
    mutationFn: async (log: Log) => {
      const start = Math.max(0, log.start - TAIL_BYTES);
      const part = await read(runId, start, log.start - start);
      return { ...log, text: part.text + log.text, start };
    },
    onSuccess: (log) => cache.setQueryData(key, log),
  });
  return { log: tail.data, error: tail.error, earlier };
}

async function fetchTail(
  runId: number,
  log: Log | undefined,
  trims: boolean,
  signal: AbortSignal,
): Promise<Log> {
  const part = await read(runId, log?.next ?? -TAIL_BYTES, TAIL_BYTES, signal);
  // A log that became shorter was replaced by another log.
  if (!log || part.offset < log.next) return { text: part.text, start: part.offset, next: part.next };
  if (!part.text) return log;
  const grown = { text: log.text + part.text, start: log.start, next: part.next };
  return trims ? trimLog(grown) : grown;
}

/** Return the log without the oldest lines that exceed the limit. */
function trimLog(log: Log): Log {
  const surplus = log.text.length - MAX_CHARACTERS;
  if (surplus <= 0) return log;
  const end = log.text.indexOf("\n", surplus);
  const cut = log.text.slice(0, end < 0 ? surplus : end);
  return { ...log, text: log.text.slice(cut.length), start: log.start + byteLength(cut) };
}

/** Return the length of a text in bytes, the unit of the API. */
function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function read(runId: number, offset: number, limit: number, signal?: AbortSignal) {
  const params = { path: { run_id: runId }, query: { offset, limit } };
  return body(client.GET("/api/v1/runs/{run_id}/log", { params, ...(signal ? { signal } : {}) }));
}

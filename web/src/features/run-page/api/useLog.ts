/** GET /runs/{id}/log: the tail of a run's log, growing by what is new; earlier parts on demand. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { pace } from "@/shared/api/polling";

const TAIL_BYTES = 65_536;
const MOST_CHARACTERS = 1_000_000; // beyond, the page would no longer scroll lightly

export interface Log {
  text: string;
  start: number; // the byte at which `text` begins
  next: number;
}

/** `trims`: what is beyond the most is let go of; not while it is being read. */
export function useLog(runId: number, live: boolean, trims: boolean) {
  const cache = useQueryClient();
  const key = ["run", runId, "log"];
  const tail = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => moreOf(runId, cache.getQueryData<Log>(key), trims, signal),
    refetchInterval: pace(live),
  });
  const earlier = useMutation({
    mutationFn: async (log: Log) => {
      const start = Math.max(0, log.start - TAIL_BYTES);
      const part = await read(runId, start, log.start - start);
      return { ...log, text: part.text + log.text, start };
    },
    onSuccess: (log) => cache.setQueryData(key, log),
  });
  return { log: tail.data, earlier };
}

async function moreOf(
  runId: number,
  log: Log | undefined,
  trims: boolean,
  signal: AbortSignal,
): Promise<Log> {
  const part = await read(runId, log?.next ?? -TAIL_BYTES, TAIL_BYTES, signal);
  // a log shorter than what was read of it is another log
  if (!log || part.offset < log.next) return { text: part.text, start: part.offset, next: part.next };
  if (!part.text) return log;
  const grown = { text: log.text + part.text, start: log.start, next: part.next };
  return trims ? trimmed(grown) : grown;
}

/** Without its oldest lines, as far as it has too many. */
function trimmed(log: Log): Log {
  const surplus = log.text.length - MOST_CHARACTERS;
  if (surplus <= 0) return log;
  const end = log.text.indexOf("\n", surplus);
  const cut = log.text.slice(0, end < 0 ? surplus : end);
  return { ...log, text: log.text.slice(cut.length), start: log.start + bytesOf(cut) };
}

/** The service counts a log in bytes. */
function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function read(runId: number, offset: number, limit: number, signal?: AbortSignal) {
  const params = { path: { run_id: runId }, query: { offset, limit } };
  return body(client.GET("/api/v1/runs/{run_id}/log", { params, ...(signal ? { signal } : {}) }));
}

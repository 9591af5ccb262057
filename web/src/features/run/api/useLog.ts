/** GET /runs/{id}/log: the tail of a run's log, growing by what is new; earlier parts on demand. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { pace } from "@/shared/api/pace";

const TAIL_BYTES = 65_536;
const MOST_CHARACTERS = 1_000_000; // beyond, the page would no longer scroll lightly

export interface Log {
  text: string;
  start: number; // the byte at which `text` begins
  next: number;
}

export function useLog(runId: number, live: boolean) {
  const cache = useQueryClient();
  const key = ["run", runId, "log"];
  const tail = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => moreOf(runId, cache.getQueryData<Log>(key), signal),
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

async function moreOf(runId: number, log: Log | undefined, signal: AbortSignal): Promise<Log> {
  const part = await read(runId, log?.next ?? -TAIL_BYTES, TAIL_BYTES, signal);
  // a log shorter than what was read of it is another log
  if (!log || part.offset < log.next) return { text: part.text, start: part.offset, next: part.next };
  if (!part.text) return log;
  const text = log.text + part.text;
  const surplus = Math.max(0, text.length - MOST_CHARACTERS);
  return { text: text.slice(surplus), start: log.start + surplus, next: part.next };
}

function read(runId: number, offset: number, limit: number, signal?: AbortSignal) {
  const params = { path: { run_id: runId }, query: { offset, limit } };
  return body(client.GET("/api/v1/runs/{run_id}/log", { params, ...(signal ? { signal } : {}) }));
}

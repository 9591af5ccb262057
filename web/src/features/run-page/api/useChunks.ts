/** GET /runs/{id}/chunks: the states of the chunks of a program's volume. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { ChunkStates, RunDetail } from "@/shared/api/types";
import { hasEnded } from "@/shared/state/state";

export function useChunks(run: RunDetail): { chunks: ChunkStates | null; error: Error | null } {
  const pollInterval = usePollInterval();
  const { data, error } = useQuery({
    queryKey: keys.runChunks(run.id, run.attempt, hasEnded(run.state)),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/chunks", { params: { path: { run_id: run.id } }, signal })),
    refetchInterval: pollInterval(!hasEnded(run.state)),
  });
  return { chunks: data ?? null, error };
}

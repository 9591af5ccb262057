/** GET /runs/{id}/ranks: the time of each rank over the newest steps. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { RankTimes, RunDetail } from "@/shared/api/types";
import { hasEnded } from "@/shared/state/state";

export function useRankTimes(run: RunDetail): { times: RankTimes | null; error: Error | null } {
  const pollInterval = usePollInterval();
  const query = useQuery({
    queryKey: keys.runRankTimes(run.id),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/ranks", { params: { path: { run_id: run.id } }, signal })),
    refetchInterval: pollInterval(!hasEnded(run.state)),
  });
  return { times: query.data ?? null, error: query.error };
}

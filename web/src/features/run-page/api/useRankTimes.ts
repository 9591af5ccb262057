/** GET /runs/{id}/ranks: where every rank's time went over the newest steps. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { pace } from "@/shared/api/polling";
import type { RankTimes, RunDetail } from "@/shared/api/types";
import { hasEnded } from "@/shared/state/state";

export function useRanks(run: RunDetail): RankTimes | null {
  const query = useQuery({
    queryKey: ["run", run.id, "ranks"],
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/ranks", { params: { path: { run_id: run.id } }, signal })),
    refetchInterval: pace(!hasEnded(run.state)),
  });
  return query.data ?? null;
}

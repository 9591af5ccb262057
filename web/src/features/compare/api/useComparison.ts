/** GET /runs/comparison: what differs between the runs, and the metrics that they have. */
import { skipToken, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { pollInterval } from "@/shared/api/polling";

export function useComparison(ids: number[] | null) {
  return useQuery({
    queryKey: keys.comparison(ids ?? []),
    queryFn: ids?.length
      ? ({ signal }) =>
          body(client.GET("/api/v1/runs/comparison", { params: { query: { run: ids } }, signal }))
      : skipToken,
    refetchInterval: ({ state }) => (state.data?.metrics.length === 0 ? pollInterval(false) : false),
    retry: false,
  });
}

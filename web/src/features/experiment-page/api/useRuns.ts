/** GET /experiments/{id}/runs: its runs in the order of the grid, a page at a time. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { pace } from "@/shared/api/polling";

export function useRuns(experimentId: number, live: boolean) {
  return useInfiniteQuery({
    queryKey: ["experiment", experimentId, "runs"],
    queryFn: ({ pageParam, signal }) => {
      const params = { path: { experiment_id: experimentId }, query: { after: pageParam } };
      return body(client.GET("/api/v1/experiments/{experiment_id}/runs", { params, signal }));
    },
    initialPageParam: -1,
    getNextPageParam: (page) => page.next,
    refetchInterval: pace(live),
  });
}

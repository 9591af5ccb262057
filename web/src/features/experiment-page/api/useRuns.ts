/** GET /experiments/{id}/runs: the runs of an experiment in the order of its grid, in pages. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { pollInterval } from "@/shared/api/polling";

export function useRuns(experimentId: number, live: boolean) {
  return useInfiniteQuery({
    queryKey: keys.experimentRuns(experimentId),
    queryFn: ({ pageParam, signal }) => {
      const params = { path: { experiment_id: experimentId }, query: { after: pageParam } };
      return body(client.GET("/api/v1/experiments/{experiment_id}/runs", { params, signal }));
    },
    initialPageParam: -1,
    getNextPageParam: (page) => page.next,
    refetchInterval: pollInterval(live),
  });
}

/** GET /experiments/{id}/runs: the runs of an experiment in the order of its grid, in pages; of a workflow perhaps those of one step. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";

export function useRuns(experimentId: number, step: string | null, live: boolean) {
  const pollInterval = usePollInterval();
  return useInfiniteQuery({
    queryKey: keys.experimentRuns(experimentId, step),
    queryFn: ({ pageParam, signal }) => {
      const params = {
        path: { experiment_id: experimentId },
        query: { after: pageParam, step: step ?? undefined },
      };
      return body(client.GET("/api/v1/experiments/{experiment_id}/runs", { params, signal }));
    },
    initialPageParam: -1,
    getNextPageParam: (page) => page.next,
    refetchInterval: pollInterval(live),
  });
}

/** GET /experiments/{id}/search: the trials of a search, the best so far, and what mattered. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";

export function useSearch(experimentId: number) {
  const pollInterval = usePollInterval();
  return useQuery({
    queryKey: keys.experimentSearch(experimentId),
    queryFn: ({ signal }) => {
      const params = { path: { experiment_id: experimentId } };
      return body(client.GET("/api/v1/experiments/{experiment_id}/search", { params, signal }));
    },
    refetchInterval: ({ state }) => pollInterval(state.data ? state.data.status === "running" : false),
  });
}

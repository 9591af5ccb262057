/** GET /experiments/{id}/steps: the graph of a workflow. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";

export function useSteps(experimentId: number, live: boolean) {
  const pollInterval = usePollInterval();
  return useQuery({
    queryKey: keys.experimentSteps(experimentId),
    queryFn: ({ signal }) => {
      const params = { path: { experiment_id: experimentId } };
      return body(client.GET("/api/v1/experiments/{experiment_id}/steps", { params, signal }));
    },
    placeholderData: (before) => before,
    refetchInterval: pollInterval(live),
  });
}

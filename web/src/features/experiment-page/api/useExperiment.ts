/** GET /experiments/{id}: an experiment with its spec. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import { hasEnded } from "@/shared/state/state";

export function useExperiment(id: number) {
  const pollInterval = usePollInterval();
  return useQuery({
    queryKey: keys.experiment(id),
    queryFn: ({ signal }) => {
      const params = { path: { experiment_id: id } };
      return body(client.GET("/api/v1/experiments/{experiment_id}", { params, signal }));
    },
    refetchInterval: ({ state }) => pollInterval(state.data ? !hasEnded(state.data.state) : false),
  });
}

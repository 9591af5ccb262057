/** GET /experiments/{id}: one experiment with its spec. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { pace } from "@/shared/api/polling";
import { hasEnded } from "@/shared/state/state";

export function useExperiment(id: number) {
  return useQuery({
    queryKey: ["experiment", id],
    queryFn: ({ signal }) => {
      const params = { path: { experiment_id: id } };
      return body(client.GET("/api/v1/experiments/{experiment_id}", { params, signal }));
    },
    refetchInterval: ({ state }) => pace(state.data ? !hasEnded(state.data.state) : false),
  });
}

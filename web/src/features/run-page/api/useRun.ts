/** GET /runs/{id}: one run with its spec, its moves and the names of its series. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { pace } from "@/shared/api/polling";
import { hasEnded } from "@/shared/state/state";

export function useRun(id: number) {
  return useQuery({
    queryKey: ["run", id],
    queryFn: ({ signal }) => {
      const params = { path: { run_id: id } };
      return body(client.GET("/api/v1/runs/{run_id}", { params, signal }));
    },
    refetchInterval: ({ state }) => pace(state.data ? !hasEnded(state.data.state) : false),
  });
}

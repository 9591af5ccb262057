/** GET /runs/{id}: a run with its spec, its history and the names of its series. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import { hasEnded } from "@/shared/state/state";

export function useRun(id: number) {
  const pollInterval = usePollInterval();
  return useQuery({
    queryKey: keys.run(id),
    queryFn: ({ signal }) => {
      const params = { path: { run_id: id } };
      return body(client.GET("/api/v1/runs/{run_id}", { params, signal }));
    },
    refetchInterval: ({ state }) => pollInterval(state.data ? !hasEnded(state.data.state) : false),
  });
}

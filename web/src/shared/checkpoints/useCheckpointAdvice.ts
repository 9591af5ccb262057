/** GET /experiments/{id}/checkpoints: the interruptions of its runs, the cost of checkpoints and the best interval. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

const POLL_MS = 30_000;

export function useCheckpointAdvice(experimentId: number) {
  return useQuery({
    queryKey: keys.checkpointAdvice(experimentId),
    queryFn: ({ signal }) => {
      const params = { path: { experiment_id: experimentId } };
      return body(client.GET("/api/v1/experiments/{experiment_id}/checkpoints", { params, signal }));
    },
    refetchInterval: POLL_MS,
  });
}

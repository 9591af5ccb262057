/** GET /experiments/{id}/checkpoints: what interrupted its runs, what saving cost, and how often to save. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";

const SELDOM_MS = 30_000;

export function useAdvice(experimentId: number) {
  return useQuery({
    queryKey: ["checkpoints", experimentId],
    queryFn: ({ signal }) => {
      const params = { path: { experiment_id: experimentId } };
      return body(client.GET("/api/v1/experiments/{experiment_id}/checkpoints", { params, signal }));
    },
    refetchInterval: SELDOM_MS,
  });
}

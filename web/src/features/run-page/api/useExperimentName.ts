/** GET /experiments/{id}: the name of the run's experiment. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

const RARELY_CHANGES_MS = 60_000;

export function useExperimentName(id: number): string {
  const query = useQuery({
    queryKey: keys.experimentName(id),
    queryFn: async ({ signal }) => {
      const params = { path: { experiment_id: id } };
      return (await body(client.GET("/api/v1/experiments/{experiment_id}", { params, signal }))).name;
    },
    staleTime: RARELY_CHANGES_MS,
  });
  return query.data ?? `Experiment ${id}`;
}

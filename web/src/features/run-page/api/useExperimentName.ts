/** GET /experiments/{id}: of the run's experiment its name, which never changes. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";

export function useExperimentName(id: number): string {
  const query = useQuery({
    queryKey: ["experiment", id, "name"],
    queryFn: async ({ signal }) => {
      const params = { path: { experiment_id: id } };
      return (await body(client.GET("/api/v1/experiments/{experiment_id}", { params, signal }))).name;
    },
    staleTime: Infinity,
  });
  return query.data ?? `Experiment ${id}`;
}

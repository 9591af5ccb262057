/** GET /runs/{id}/differences: how the run differs from another one; nothing is requested without another one. */
import { skipToken, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

export function useDifferences(id: number, other: number | null) {
  return useQuery({
    queryKey: keys.runDifferences(id, other),
    queryFn:
      other === null
        ? skipToken
        : ({ signal }) => {
            const params = { path: { run_id: id }, query: { other } };
            return body(client.GET("/api/v1/runs/{run_id}/differences", { params, signal }));
          },
  });
}

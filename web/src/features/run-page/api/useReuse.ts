/** GET /runs/{id}/reuse: whether a run took a finished run's result, or why not. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { RunDetail, RunReuse } from "@/shared/api/types";

/** Return the answer for a run whose spec asks for a finished run's result. */
export function useReuse(run: RunDetail): RunReuse | undefined {
  const { data } = useQuery({
    queryKey: keys.runReuse(run.id, run.state),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/reuse", { params: { path: { run_id: run.id } }, signal })),
    enabled: run.spec.kind !== "recorded" && run.spec.reuse,
  });
  return data;
}

/** GET /runs/{id}/files: what a run's program wrote, and the jobs that it submitted itself. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { RunDetail, RunFiles } from "@/shared/api/types";
import { hasEnded } from "@/shared/state/state";

const INTERVAL_MS = 30_000; // no event announces a file

/** Return the files of a run that has begun. */
export function useFiles(run: RunDetail): RunFiles | undefined {
  const { data } = useQuery({
    queryKey: keys.runFiles(run.id, run.attempt, run.state),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/files", { params: { path: { run_id: run.id } }, signal })),
    enabled: run.attempt > 0,
    refetchInterval: hasEnded(run.state) ? false : INTERVAL_MS,
  });
  return data;
}

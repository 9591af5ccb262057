/** GET /runs/{id}/checkpoints: what a run that has not finished could resume from. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { RunCheckpoints, RunDetail } from "@/shared/api/types";
import { hasEnded } from "@/shared/state/state";

const INTERVAL_MS = 30_000; // a checkpoint is written every few minutes; no event announces it

/** Return the checkpoints of a run that is live, paused, failed or stopped; those of a finished run are artifacts. */
export function useCheckpoints(run: RunDetail): RunCheckpoints | undefined {
  const { data } = useQuery({
    queryKey: keys.runCheckpoints(run.id, run.attempt, run.state),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/checkpoints", { params: { path: { run_id: run.id } }, signal })),
    enabled: run.attempt > 0 && run.state !== "done" && run.spec.kind !== "recorded",
    refetchInterval: hasEnded(run.state) ? false : INTERVAL_MS,
  });
  return data;
}

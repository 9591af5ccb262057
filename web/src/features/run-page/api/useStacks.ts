/** GET /runs/{id}/stacks: the newest stacks of the first 64 ranks of a program's latest attempt. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { AttemptStacks, RunDetail } from "@/shared/api/types";
import { hasEnded } from "@/shared/state/state";

/** Return the stacks while `enabled`, because a reader rarely needs them. */
export function useStacks(run: RunDetail, enabled: boolean): { stacks?: AttemptStacks; error: Error | null } {
  const pollInterval = usePollInterval();
  const { data, error } = useQuery({
    queryKey: keys.runStacks(run.id, run.attempt),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/stacks", { params: { path: { run_id: run.id } }, signal })),
    enabled,
    refetchInterval: pollInterval(!hasEnded(run.state)),
  });
  return data ? { stacks: data, error } : { error };
}

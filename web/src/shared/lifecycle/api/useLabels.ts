/** PATCH /runs/{id} and /experiments/{id}: change names, notes, tags, owner, project and the archive. */
import { useMutation } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import type { Target } from "@/shared/api/target";
import type { ExperimentChange, RunChange } from "@/shared/api/types";

export type Change = Partial<ExperimentChange & RunChange>;

export function useLabels(target: Target, refresh: () => Promise<unknown>) {
  return useMutation({
    mutationFn: (change: Change) => patch(target, change),
    onSuccess: refresh,
  });
}

/** Send the change; a field that it lacks stays as it is. */
async function patch({ kind, id }: Target, change: Change): Promise<void> {
  if (kind === "run") {
    const params = { path: { run_id: id } };
    await body(client.PATCH("/api/v1/runs/{run_id}", { params, body: change as RunChange }));
    return;
  }
  const params = { path: { experiment_id: id } };
  await body(
    client.PATCH("/api/v1/experiments/{experiment_id}", { params, body: change as ExperimentChange }),
  );
}

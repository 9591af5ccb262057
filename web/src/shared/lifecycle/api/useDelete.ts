/** DELETE /runs/{id} and /experiments/{id}: delete with all files, after a confirmation. */
import { useMutation } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import type { Target } from "@/shared/api/target";

export function useDelete(target: Target) {
  return useMutation({ mutationFn: (confirm: string) => remove(target, confirm) });
}

function remove({ kind, id }: Target, confirm: string) {
  const query = { confirm };
  if (kind === "run") {
    const params = { path: { run_id: id }, query };
    return body(client.DELETE("/api/v1/runs/{run_id}", { params }));
  }
  const params = { path: { experiment_id: id }, query };
  return body(client.DELETE("/api/v1/experiments/{experiment_id}", { params }));
}

/** The deletion of runs and experiments, and how it is undone. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { Target } from "@/shared/api/target";
import type { StoredSize } from "@/shared/api/types";

/** The last deletion of this tab, which the banner offers to undo; it outlives the page that made it. */
export interface LastDeletion {
  targets: readonly Target[];
  name: string; // "run 12", "3 runs"
  until: string; // the moment until which it can be undone at least
}

let last: LastDeletion | null = null;
const listeners = new Set<() => void>();

/** Record a deletion, or with null that the banner is closed. */
export function recordDeletion(deletion: LastDeletion | null): void {
  last = deletion;
  listeners.forEach((listener) => {
    listener();
  });
}

export function useLastDeletion(): LastDeletion | null {
  return useSyncExternalStore(subscribe, () => last);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** GET /runs/{id}/size and /experiments/{id}/size: what a deletion would remove. */
export function useSize(target: Target) {
  return useQuery({
    queryKey: keys.size(target),
    queryFn: ({ signal }) => sizeOf(target, signal),
    gcTime: 0, // a run may have written more since
  });
}

function sizeOf({ kind, id }: Target, signal: AbortSignal): Promise<StoredSize> {
  if (kind === "run") {
    const params = { path: { run_id: id } };
    return body(client.GET("/api/v1/runs/{run_id}/size", { params, signal }));
  }
  const params = { path: { experiment_id: id } };
  return body(client.GET("/api/v1/experiments/{experiment_id}/size", { params, signal }));
}

/** DELETE /runs/{id} and /experiments/{id}: delete with all files, after a confirmation. */
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

/**
 * POST /runs/{id}/restore and /experiments/{id}/restore: undo deletions.
 *
 * Restore one after the other; the first refusal ends the request with its reason.
 */
export function useRestore() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: async (targets: readonly Target[]) => {
      for (const target of targets) await restore(target);
    },
    // lists, tables, pages of the runs: whatever is open may show what came back
    onSettled: () => cache.invalidateQueries(),
  });
}

function restore({ kind, id }: Target) {
  if (kind === "run")
    return body(client.POST("/api/v1/runs/{run_id}/restore", { params: { path: { run_id: id } } }));
  const params = { path: { experiment_id: id } };
  return body(client.POST("/api/v1/experiments/{experiment_id}/restore", { params }));
}

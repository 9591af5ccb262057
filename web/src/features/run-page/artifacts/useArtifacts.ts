/** GET /runs/{id}/artifacts: what an ended run has left. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { ArtifactView, RunArtifacts, RunDetail } from "@/shared/api/types";

const COPIES_MS = 5000;

function isUnderWay({ mirror }: ArtifactView): boolean {
  return mirror?.state === "waiting" || mirror?.state === "removing";
}

/** Return the artifacts of a run that is done; nothing is stored before. */
export function useArtifacts(run: RunDetail): { artifacts?: RunArtifacts; error: Error | null } {
  const { data, error } = useQuery({
    queryKey: keys.runArtifacts(run.id, run.attempt),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/artifacts", { params: { path: { run_id: run.id } }, signal })),
    enabled: run.state === "done" && run.spec.kind !== "recorded",
    // the copies in the object store are made after the run's end
    refetchInterval: ({ state }) => (state.data?.items.some(isUnderWay) ? COPIES_MS : false),
  });
  return data ? { artifacts: data, error } : { error };
}

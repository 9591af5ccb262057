/** POST /experiments: submit an experiment. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { Created } from "@/shared/api/types";
import { yamlBody } from "@/shared/spec/yamlBody";

/**
 * `origin`: the id of the experiment that it repeats or varies. A document is a spec, or its text as YAML or JSON; `points` are runs that
 * the new experiment gets outside its grid. `fromStep`: this step and all that need it are carried out for certain.
 */
export function useCreate(origin?: number, points: Record<string, unknown>[] = [], fromStep?: string) {
  const cache = useQueryClient();
  const sent = useRef({ text: "", key: "" });
  return useMutation({
    mutationFn: async (document: string | object) => {
      const text = typeof document === "string" ? document : JSON.stringify(document);
      // a repeated request with the same document is carried out once
      if (sent.current.text !== text) sent.current = { text, key: newKey() };
      const query = {
        ...(origin === undefined ? {} : { origin }),
        ...(fromStep === undefined ? {} : { from_step: fromStep }),
      };
      const params = { query, header: { "idempotency-key": sent.current.key } };
      const request = { params, ...yamlBody(text) };
      const made = (await body(client.POST("/api/v1/experiments", request))) as Created; // no dry run
      if (points.length) await addPoints(made.id, points);
      return made;
    },
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.experimentLists() }),
  });
}

async function addPoints(id: number, points: Record<string, unknown>[]): Promise<void> {
  const params = { path: { experiment_id: id } };
  await body(
    client.POST("/api/v1/experiments/{experiment_id}/points", { params, body: { axes: {}, points } }),
  );
}

/** Return a key that no other request has; browsers offer randomUUID to secure pages only. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-");
}

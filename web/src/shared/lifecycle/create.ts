/** POST /experiments: submit an experiment. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { Created, ExperimentSpec } from "@/shared/api/types";

export interface Copied {
  kind: "experiment" | "run";
  id: number;
}

/**
 * Submit a text in YAML. `origin`: the id of the experiment that it repeats or varies. `fromStep`: this step and all that need it are
 * carried out for certain.
 */
export function useCreate(origin?: number, fromStep?: string) {
  const cache = useQueryClient();
  const sent = useRef({ text: "", key: "" });
  return useMutation({
    mutationFn: (text: string) => create(sent.current, text, { origin, fromStep }),
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.experimentLists() }),
  });
}

/** Submit what the service has stored, as the service writes it: this page would round large integers and write 1.0 as 1. */
export function useCopy(copied: Copied, origin: number, hasPoints: boolean, fromStep?: string) {
  const cache = useQueryClient();
  const sent = useRef({ text: "", key: "" });
  return useMutation({
    mutationFn: async () => {
      const made = await create(sent.current, await documentText(copied), { origin, fromStep });
      if (hasPoints) await addPointsOf(origin, made.id);
      return made;
    },
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.experimentLists() }),
  });
}

interface Sent {
  text: string;
  key: string;
}

interface Asked {
  origin: number | undefined;
  fromStep: string | undefined;
}

async function create(sent: Sent, text: string, { origin, fromStep }: Asked): Promise<Created> {
  // a repeated request with the same document is carried out once
  if (sent.text !== text) Object.assign(sent, { text, key: newKey() });
  const query = {
    ...(origin === undefined ? {} : { origin }),
    ...(fromStep === undefined ? {} : { from_step: fromStep }),
  };
  const params = { query, header: { "idempotency-key": sent.key } };
  const request = { params, ...yamlBody(text) };
  return (await body(client.POST("/api/v1/experiments", request))) as Created; // no dry run
}

/** Return the document of an experiment or a run in YAML. */
export async function documentText({ kind, id }: Copied, signal?: AbortSignal): Promise<string> {
  const options = signal ? { signal } : {};
  const answer =
    kind === "run"
      ? client.GET("/api/v1/runs/{run_id}/document", { params: { path: { run_id: id } }, ...options })
      : client.GET("/api/v1/experiments/{experiment_id}/document", {
          params: { path: { experiment_id: id } },
          ...options,
        });
  return (await body<{ text: string }>(answer)).text;
}

/** Add the points that the experiment `like` has outside its grid. */
async function addPointsOf(like: number, id: number): Promise<void> {
  const params = { path: { experiment_id: id } };
  await body(
    client.POST("/api/v1/experiments/{experiment_id}/points", {
      params,
      body: { axes: {}, points: [], like },
    }),
  );
}

/** Return a key that no other request has; browsers offer randomUUID to secure pages only. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-");
}

/** The parts of a request whose body is the text of a spec, as YAML or JSON. */
export function yamlBody(text: string) {
  return {
    headers: { "Content-Type": "application/yaml" },
    body: text as unknown as ExperimentSpec, // as the serializer passes it on
    bodySerializer: () => text,
  };
}

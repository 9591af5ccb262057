/** The text with which the editor begins: a recipe, the spec of an experiment, or a short example. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { Recipe } from "@/shared/api/types";
import { documentText } from "@/shared/lifecycle/create";
import { change, compact } from "./document";

const EXAMPLE = `name: my experiment
base:
  data: {kind: digits}
  model: {kind: convnet, width: 16}
  optimizer: {kind: lars}
  schedule: {kind: polynomial, rate: 7.0, warmup_epochs: 2.0}
  batch: 256
  epochs: 10
  resources: {kind: local, ranks_per_node: 2}
axes:
  seed: [1, 2, 3]
`;

export type Source =
  { kind: "empty" } | { kind: "recipe"; name: string } | { kind: "experiment" | "run"; id: number };

interface FirstText {
  text: string | undefined;
  origin?: number | undefined; // id of the experiment that the text was copied from
  error: Error | null;
  isAbsent?: boolean;
}

export function useFirstText(source: Source): FirstText {
  const recipes = useRecipes(source.kind === "recipe");
  const experiment = useExperimentText(source.kind === "experiment" ? source.id : null);
  const run = useRunText(source.kind === "run" ? source.id : null);
  switch (source.kind) {
    case "empty":
      return { text: EXAMPLE, error: null };
    case "experiment":
      return { text: experiment.data, origin: source.id, error: experiment.error };
    case "run":
      return { text: run.data?.text, origin: run.data?.origin, error: run.error };
    case "recipe":
      return { ...textOf(recipes.data, source.name), error: recipes.error };
  }
}

function textOf(recipes: Recipe[] | undefined, wanted: string): Pick<FirstText, "text" | "isAbsent"> {
  const found = recipes?.find(({ name }) => name === wanted);
  return { text: found?.text, isAbsent: recipes !== undefined && !found };
}

function useExperimentText(id: number | null) {
  return useQuery({
    queryKey: keys.experimentText(id),
    queryFn: async ({ signal }) => compact(await documentText({ kind: "experiment", id: id ?? 0 }, signal)),
    enabled: id !== null,
  });
}

function useRunText(id: number | null) {
  return useQuery({
    queryKey: keys.runText(id),
    queryFn: async ({ signal }) => {
      const params = { path: { run_id: id ?? 0 } };
      const run = await body(client.GET("/api/v1/runs/{run_id}", { params, signal }));
      const text = compact(await documentText({ kind: "run", id: run.id }, signal));
      return { origin: run.experiment_id, text: change(text, ["name"], `clone of run ${run.id}`) };
    },
    enabled: id !== null,
  });
}

/** GET /recipes: the specs that the service offers. */
export function useRecipes(enabled = true) {
  return useQuery({
    queryKey: keys.recipes(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/recipes", { signal })),
    enabled,
  });
}

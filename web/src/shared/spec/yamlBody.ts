/** The parts of a request whose body is the text of a spec, as YAML or JSON. */
import type { ExperimentSpec } from "@/shared/api/types";

export function yamlBody(text: string) {
  return {
    headers: { "Content-Type": "application/yaml" },
    body: text as unknown as ExperimentSpec, // as the serializer passes it on
    bodySerializer: () => text,
  };
}

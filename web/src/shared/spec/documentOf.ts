/** The document that describes an experiment: its spec, with the labels that it has now. */
import type { ExperimentDetail } from "@/shared/api/types";

/** Return the document, without labels that are empty, which is what they are by default. */
export function documentOf({
  spec,
  name,
  description,
  owner,
  project,
  tags,
  notes,
}: ExperimentDetail): object {
  const labels = { description, owner, project, tags, notes };
  const written = Object.entries(labels).filter(([, value]) => value.length > 0);
  const others = Object.entries(spec).filter(([field]) => !(field in labels) && field !== "name");
  return { name, ...Object.fromEntries(written), ...Object.fromEntries(others) };
}

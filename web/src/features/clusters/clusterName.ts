/** The names of the kinds of clusters that the pages show. */
const NAMES: Record<string, string> = { local: "This machine", slurm: "Slurm" };

export function clusterName(kind: string): string {
  return NAMES[kind] ?? kind;
}

/** What people call the kinds of clusters. */
const NAMES: Record<string, string> = { local: "This machine", slurm: "Slurm" };

export function clusterName(kind: string): string {
  return NAMES[kind] ?? kind;
}

/** What the names of series say: the rank or the node that reports them. */

/** Series of single ranks: `loss/rank-3` is what rank 3 reports as `loss`; rank 0 reports `loss` itself. */
export interface RankSeries {
  base: string; // the name under which the ranks report
  names: string[]; // the series, in the order of their ranks
}

const RANK = /^(.+)\/rank-(\d+)$/;

/** Return the number of the rank that reports a series; null for a series without a rank in its name. */
export function rankOf(name: string): number | null {
  const found = RANK.exec(name);
  return found ? Number(found[2]) : null;
}

/** Return the name of a series without its rank. */
export function baseOf(name: string): string {
  return RANK.exec(name)?.[1] ?? name;
}

/** Return the series grouped by their names without the rank, in the order of the first of each group. */
export function groupByRank(names: Iterable<string>): RankSeries[] {
  const groups = new Map<string, string[]>();
  for (const name of names) {
    const base = baseOf(name);
    groups.set(base, [...(groups.get(base) ?? []), name]);
  }
  const byRank = (one: string, other: string) => (rankOf(one) ?? 0) - (rankOf(other) ?? 0);
  return [...groups].map(([base, group]) => ({ base, names: group.toSorted(byRank) }));
}

/** Return one series for each group: that of its lowest rank. */
export function withoutRanks(names: Iterable<string>): string[] {
  return groupByRank(names).flatMap((group) => group.names.slice(0, 1));
}

/** Series of nodes: `system/cpu-3/gpu-0/busy` is what the node cpu-3 measures of its first GPU. */
export interface SystemSeries {
  name: string;
  host: string;
  device: string; // "gpu-0"; empty for the node itself
  metric: string; // "busy", "cpu", "memory_bytes"
}

const SYSTEM = /^system\/([^/]+)\/(?:(gpu-\d+)\/)?([^/]+)$/;

/** Return the parts of the name of a node's series; null for any other series. */
export function systemOf(name: string): SystemSeries | null {
  const [, host, device = "", metric] = SYSTEM.exec(name) ?? [];
  return host !== undefined && metric !== undefined ? { name, host, device, metric } : null;
}

/** The charts of a run's nodes: processors, memory, disks, network and GPUs, a line for each node or GPU. */
import { useMemo } from "react";
import type { RunDetail } from "@/shared/api/types";
import { useZoom } from "@/shared/curves/view";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { type SystemSeries, systemOf } from "@/shared/series/names";
import { useNamedSeries } from "../api/useNamedSeries";
import { SeriesChart } from "../charts/SeriesChart";
import styles from "./SystemCurves.module.css";

const TITLES = new Map(
  Object.entries({
    cpu: "Processors, busy",
    memory_bytes: "Memory, used",
    disk_read_bytes_per_s: "Disks, read",
    disk_written_bytes_per_s: "Disks, written",
    net_received_bytes_per_s: "Network, received",
    net_sent_bytes_per_s: "Network, sent",
    "gpu busy": "GPUs, busy",
    "gpu memory_bytes": "GPUs, memory used",
    "gpu watts": "GPUs, watts",
  }),
);

export function SystemCurves({ run, names }: { run: RunDetail; names: string[] }) {
  const { series, isPending, error } = useNamedSeries(run, names);
  const groups = useMemo(() => groupsOf(names), [names]);
  const range = useZoom();
  if (isPending) return <QueryStatus error={error} />;
  const last = Math.max(0, ...[...series.values()].map((curve) => curve.end));
  return (
    <section className={styles.systemCharts} aria-label="System metrics">
      {groups.map(({ title, names: shown }) => (
        <SeriesChart
          key={title}
          {...{ title, names: shown, series }}
          run={run.id}
          sync={`system-${run.id}`}
          xMax={last}
          restarts={[]}
          range={range}
          unit="s"
        />
      ))}
    </section>
  );
}

interface Group {
  title: string;
  names: string[];
}

/** Return a group for each metric, in the order of the titles, then unknown ones. */
function groupsOf(names: string[]): Group[] {
  const series = names.map(systemOf).filter((one) => one !== null);
  const metrics = new Set([...TITLES.keys(), ...series.map(metricOf)]);
  return [...metrics]
    .map((metric) => ({
      title: TITLES.get(metric) ?? metric,
      names: series.filter((one) => metricOf(one) === metric).map(({ name }) => name),
    }))
    .filter((group) => group.names.length);
}

function metricOf({ device, metric }: SystemSeries): string {
  return device ? `gpu ${metric}` : metric;
}

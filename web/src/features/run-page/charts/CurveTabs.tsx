/** The curves of a run, and behind a second tab those of its nodes; the address holds the choice. */
import { type ReactNode, useMemo } from "react";
import type { RunDetail } from "@/shared/api/types";
import { RadioTabs } from "@/shared/controls/RadioTabs";
import { AxisChoice } from "@/shared/curves/AxisChoice";
import { changeAxis, useZoom, WHOLE } from "@/shared/curves/view";
import type { XAxis } from "@/shared/curves/xAxis";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { changeAddress, useAddress } from "@/shared/page/address";
import { systemOf, type SystemSeries } from "@/shared/series/names";
import { useNamedSeries } from "../series";
import styles from "./CurveTabs.module.css";
import { SeriesChart } from "./SeriesChart";

const TABS: [string, string][] = [
  ["curves", "Curves"],
  ["system", "System"],
];

interface Props {
  run: RunDetail;
  action: ReactNode; // at the right of the tabs
  axis: XAxis; // of the run's own curves
  children: ReactNode; // the curves of the run
}

export function CurveTabs({ run, action, axis, children }: Props) {
  const address = useAddress();
  const names = useMemo(() => run.series.filter((name) => systemOf(name)), [run.series]);
  const tab = names.length && address.get("tab") === "system" ? "system" : "curves";
  return (
    <>
      <div className={styles.curveTabs}>
        {names.length > 0 && (
          <RadioTabs
            label="Curves of"
            options={TABS}
            value={tab}
            onChange={(name) => {
              // the steps of a curve are seconds of a node
              changeAddress({ tab: name === "system" ? name : "", ...WHOLE }, true);
            }}
          />
        )}
        {tab === "curves" && <AxisChoice axis={axis} names={run.series} onChange={changeAxis} />}
        <span className={styles.curveAction}>{action}</span>
      </div>
      {tab === "system" ? <SystemCurves run={run} names={names} /> : children}
    </>
  );
}

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

/** The charts of a run's nodes: processors, memory, disks, network and GPUs, a line for each node or GPU. */
function SystemCurves({ run, names }: { run: RunDetail; names: string[] }) {
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

/** A chart of a run's page with its own choice of the axis; one far down is drawn once it comes near the window. */
import { useEffect } from "react";
import type { RunDetail } from "@/shared/api/types";
import { Switch } from "@/shared/controls/Switch";
import type { StepRange } from "@/shared/curves/view";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { changeAddress, useAddress } from "@/shared/page/address";
import { useSeen } from "@/shared/page/useSeen";
import { seriesKind } from "@/shared/series/catalog";
import { baseOf } from "@/shared/series/names";
import { hasEnded } from "@/shared/state/state";
import type { Place } from "../api/usePlace";
import type { Series } from "../api/usePoints";
import styles from "./RunCurves.module.css";
import type { Group } from "./sections";
import { SeriesChart } from "./SeriesChart";

const AT_ONCE = 16; // charts that are drawn wherever they are

/** What all charts of a run share. */
export interface ChartContext {
  run: RunDetail;
  series: Series;
  range: StepRange;
  place: Place;
  smoothed: boolean;
  error: Error | null; // of series that were asked for
  onSeen: (names: readonly string[]) => void; // a chart needs these series
}

interface Props {
  group: Group;
  context: ChartContext;
  index: number; // of all charts of the page
}

export function RunChart({ group, context, index }: Props) {
  const [host, isSeen] = useSeen(index < AT_ONCE);
  const { onSeen } = context;
  const { names } = group;
  useEffect(() => {
    if (isSeen) onSeen(names);
  }, [isSeen, onSeen, names]);
  return (
    <div
      ref={host}
      className={isSeen ? styles.chartPlace : styles.unseenChart}
      data-series={JSON.stringify(names)}
    >
      {isSeen && <SeenChart {...{ group, context }} />}
    </div>
  );
}

function SeenChart({ group: { title, names }, context }: Omit<Props, "index">) {
  const { run, series, range, place, smoothed, error } = context;
  const logs = useAddress().getAll("log");
  const name = baseOf(names[0] ?? "");
  const logarithmic = logs.includes(name);
  const isReported = names.some((one) => run.series.includes(one));
  if (isReported && !names.some((one) => series.has(one))) return <QueryStatus error={error} />;
  return (
    <SeriesChart
      {...{ title, names, series, smoothed, range, logarithmic }}
      restarts={place.of(run.restarts.map((restart) => restart.step))}
      run={run.id}
      sync={`run-${run.id}`}
      xMin={place.first}
      xMax={place.last}
      unit={place.unit}
      empty={`No ${title === seriesKind(name).name ? title : title.toLowerCase()} reported${hasEnded(run.state) ? "" : " yet"}.`}
    >
      {seriesKind(name).logarithmic && (
        <Switch
          on={logarithmic}
          onChange={(isOn) => {
            changeAddress({ log: isOn ? [...logs, name] : logs.filter((one) => one !== name) });
          }}
        >
          log scale
        </Switch>
      )}
    </SeriesChart>
  );
}

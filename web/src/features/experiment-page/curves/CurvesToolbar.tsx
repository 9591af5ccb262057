/** The toolbar of the overlaid curves: the series, and the switches that apply to it. */
import type { ReactNode } from "react";
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { RadioTabs } from "@/shared/controls/RadioTabs";
import { Switch } from "@/shared/controls/Switch";
import { AxisChoice } from "@/shared/curves/AxisChoice";
import { changeAxis } from "@/shared/curves/view";
import { readAxis, type XAxis } from "@/shared/curves/xAxis";
import { changeAddress, useAddress } from "@/shared/page/address";
import {
  chartSeries,
  HELDOUT_ACCURACY,
  LOSS,
  type SeriesKind,
  seriesKind,
  titleWithUnit,
} from "@/shared/series/catalog";
import { keySeries, withFirst } from "@/shared/series/keySeries";
import { hasEnded } from "@/shared/state/state";
import { kindOf } from "../shownExperiment";
import styles from "./CurvesToolbar.module.css";

interface Props {
  kinds: SeriesKind[];
  options: CurveOptions;
  onChange: (change: Partial<Choices>) => void;
  reported: ReadonlySet<string>; // series of the runs
  children: ReactNode; // after the switches
  hasRange: boolean; // the chart shows a part of the range of y
}

export function CurvesToolbar({ kinds, options, onChange, reported, hasRange, children }: Props) {
  const { kind, axis, smoothed, logarithmic, whole } = options;
  const set = (name: "smoothed" | "logarithmic" | "whole") => (on: boolean) => {
    onChange({ [name]: on });
  };
  return (
    <header className={styles.toolbar}>
      <RadioTabs
        label="Series"
        options={kinds.map((each) => [each.name, titleWithUnit(each)])}
        value={kind.name}
        onChange={(name) => {
          onChange({ name });
        }}
      />
      <div className={styles.switches}>
        <AxisChoice
          axis={axis}
          names={reported}
          onChange={(chosen) => {
            onChange({ axis: chosen });
          }}
        />
        {kind.noisy && (
          <Switch on={smoothed} onChange={set("smoothed")}>
            smooth
          </Switch>
        )}
        {hasRange && (
          <Switch on={whole} onChange={set("whole")}>
            whole range
          </Switch>
        )}
        {kind.logarithmic && (
          <Switch on={logarithmic} onChange={set("logarithmic")}>
            log scale
          </Switch>
        )}
        {children}
      </div>
    </header>
  );
}

/** The choices of the reader. */
interface Choices {
  name: string | null; // of the series; null: the first one
  axis: XAxis;
  smoothed: boolean;
  logarithmic: boolean;
  whole: boolean; // the whole range of y, with curves that are far out
}

export type CurveOptions = Choices & { kind: SeriesKind };

/**
 * The reader's choices for the overlaid curves, which the address of the page holds: a link shows the same picture.
 */
export function useCurveOptions(experiment: ExperimentDetail, runs: RunView[]) {
  const address = useAddress();
  const hasOwnMetrics = kindOf(experiment) !== "engine";
  const reported = new Set(runs.flatMap((run) => Object.keys(run.latest)));
  const ranked = hasOwnMetrics ? keySeries(reported, reported.size) : [];
  const best = withFirst(experiment.objective?.metric, ranked);
  // a live run may report its first accuracy later, and the chart must not change meanwhile
  const hasNone = hasEnded(experiment.state) && reported.has(LOSS) && !reported.has(HELDOUT_ACCURACY);
  const first = best[0] ?? (hasNone ? LOSS : HELDOUT_ACCURACY);
  const known = chartSeries(hasOwnMetrics ? reported : [HELDOUT_ACCURACY, ...reported], !hasOwnMetrics);
  const rank = ({ name }: SeriesKind) => (best.includes(name) ? best.indexOf(name) : best.length);
  const kinds = hasOwnMetrics ? known.toSorted((one, other) => rank(one) - rank(other)) : known;
  const choices = choicesOf(address);
  const options: CurveOptions = { ...choices, kind: seriesKind(choices.name ?? first) };
  return { kinds, options, onChange, reported };
}

function choicesOf(address: URLSearchParams): Choices {
  return {
    name: address.get("series"),
    axis: readAxis(address.get("x")),
    smoothed: address.get("smooth") === "on",
    logarithmic: address.get("log") === "on",
    whole: address.get("range") === "whole",
  };
}

const SWITCHES = {
  smoothed: ["smooth", "on"],
  logarithmic: ["log", "on"],
  whole: ["range", "whole"],
} as const;

/** Another series or x axis is another view, to which the back button returns; a switch changes this one. */
function onChange(change: Partial<Choices>): void {
  if (change.name !== undefined) changeAddress({ series: change.name ?? "" }, true);
  if (change.axis !== undefined) changeAxis(change.axis);
  for (const name of ["smoothed", "logarithmic", "whole"] as const) {
    const [parameter, value] = SWITCHES[name];
    if (change[name] !== undefined) changeAddress({ [parameter]: change[name] ? value : "" });
  }
}

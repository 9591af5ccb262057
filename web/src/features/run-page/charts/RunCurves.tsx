/** The charts of a run's series, with a common crosshair. */
import { useMemo } from "react";
import type { RunDetail } from "@/shared/api/types";
import { Switch } from "@/shared/controls/Switch";
import { refine } from "@/shared/curves/curve";
import type { StepRange } from "@/shared/curves/view";
import { errorText } from "@/shared/messages/errorText";
import { Loading } from "@/shared/messages/Loading";
import { changeAddress, useAddress } from "@/shared/page/address";
import { classNames } from "@/shared/page/classNames";
import {
  BATCH,
  COMMUNICATION_S,
  COMPUTE_S,
  EPOCH,
  hasCurve,
  HELDOUT_ACCURACY,
  HELDOUT_LOSS,
  IDLE_S,
  INPUT_S,
  KFAC_PARTS,
  LOSS,
  PEAK_MEMORY_BYTES,
  RATE,
  SAMPLES_PER_S,
  seriesKind,
  UPDATE_S,
} from "@/shared/series/catalog";
import { keySeries } from "@/shared/series/keySeries";
import { baseOf, groupByRank } from "@/shared/series/ranks";
import { hasEnded } from "@/shared/state/state";
import type { Place } from "../api/usePlace";
import type { Points, Series } from "../api/usePoints";
import styles from "./RunCurves.module.css";
import { SeriesChart, type SeriesChartProps } from "./SeriesChart";

const PARTS = [COMPUTE_S, UPDATE_S, COMMUNICATION_S, INPUT_S, IDLE_S]; // the panel of the step's time shows these
const ENGINE: Group[] = [
  { title: "Loss", names: [LOSS, HELDOUT_LOSS] },
  { title: "Held-out accuracy", names: [HELDOUT_ACCURACY] },
  { title: "Learning rate", names: [RATE] },
  { title: "Samples/s", names: [SAMPLES_PER_S] },
];
const NOT_OWN = new Set([
  ...ENGINE.flatMap((group) => group.names),
  ...PARTS,
  ...KFAC_PARTS,
  BATCH,
  PEAK_MEMORY_BYTES,
  EPOCH,
]);

/** A chart: a title and the series in it. */
interface Group {
  title: string;
  names: string[];
}

interface Props {
  run: RunDetail;
  points: Points;
  finer: Series; // the curves in the zoomed range
  range: StepRange; // zoomed
  place: Place;
}

export function RunCurves({ run, points, finer, range, place }: Props) {
  const series = useMemo(() => place.series(refineAll(points.series, finer)), [points.series, finer, place]);
  const smoothed = useAddress().get("smooth") !== "off";
  const { kind } = run.spec;
  const restarts = place.of(run.restarts.map((restart) => restart.step));
  const groups = useMemo(() => groupsOf(kind, points.series), [kind, points.series]);
  if (!Object.keys(series).length) {
    return run.points_removed_at ? null : <NoCurves {...points} ended={hasEnded(run.state)} />; // the history names the removal
  }
  return (
    <section className={styles.charts} aria-label="Curves">
      {groups.map(({ title, names }, index) => (
        <Curve
          key={`${title} ${baseOf(names[0] ?? "")}`}
          {...{ title, names, series, restarts, smoothed, range }}
          run={run.id}
          sync={`run-${run.id}`}
          xMax={place.last}
          unit={place.unit}
          empty={`No ${title.toLowerCase()} reported${hasEnded(run.state) ? "" : " yet"}.`}
          offersLog={!index || (kind !== "engine" && seriesKind(names[0] ?? "").logarithmic)}
        >
          {!index && (
            <Switch on={smoothed} onChange={changeSmoothing}>
              smooth
            </Switch>
          )}
        </Curve>
      ))}
    </section>
  );
}

function changeSmoothing(isOn: boolean): void {
  changeAddress({ smooth: isOn ? "" : "off" });
}

/** A chart with its own choice of the axis: the address names the charts with a logarithmic one. */
function Curve({ offersLog, children, ...chart }: SeriesChartProps & { offersLog: boolean | undefined }) {
  const logs = useAddress().getAll("log");
  const name = baseOf(chart.names[0] ?? "");
  const logarithmic = logs.includes(name);
  const setLogarithmic = (isOn: boolean) => {
    changeAddress({ log: isOn ? [...logs, name] : logs.filter((one) => one !== name) });
  };
  return (
    <SeriesChart {...chart} logarithmic={logarithmic}>
      {children}
      {offersLog && (
        <Switch on={logarithmic} onChange={setLogarithmic}>
          log scale
        </Switch>
      )}
    </SeriesChart>
  );
}

function refineAll(whole: Series, finer: Series): Series {
  return Object.fromEntries(Object.entries(whole).map(([name, curve]) => [name, refine(curve, finer[name])]));
}

function NoCurves({ isPending, error, ended }: Points & { ended: boolean }) {
  if (isPending) return <Loading />;
  const text = ended
    ? "The run reported no values."
    : "The run has not reported any values yet. The curves start with its first step.";
  return (
    <p className={classNames("muted", styles.noCurves)}>
      {error ? `The curves cannot be shown: ${errorText(error)}.` : text}
    </p>
  );
}

/** Return the charts of a run: those of every engine run, the batch if it changes, and one for each other series. */
function groupsOf(kind: RunDetail["spec"]["kind"], series: Series): Group[] {
  const present = Object.keys(series);
  const ordered = kind !== "engine" ? keySeries(present, present.length) : [];
  const own = groupByRank(new Set([...ordered, ...present])).filter(
    ({ base }) => !NOT_OWN.has(base) && hasCurve(base),
  );
  const charts = own.map(({ base, names }) => ({ title: seriesKind(base).title, names }));
  const batch = new Set(series[BATCH]?.envelope.values).size > 1 ? [{ title: "Batch", names: [BATCH] }] : [];
  const parts = KFAC_PARTS.filter((name) => series[name]);
  const kfac = parts.length ? [{ title: "Time of K-FAC, in compute and update", names: parts }] : [];
  const standard = kind === "engine" ? ENGINE : programGroups(present);
  return [...standard, ...kfac, ...batch, ...charts];
}

/** Return the charts of the engine that a program has reported values for, with the series of its ranks. */
function programGroups(present: string[]): Group[] {
  const ranks = groupByRank(present);
  return ENGINE.map(({ title, names }) => ({
    title,
    names: names.flatMap((name) => ranks.find(({ base }) => base === name)?.names ?? []),
  })).filter(({ names }) => names.length);
}

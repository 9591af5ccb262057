/** A panel of curves: one metric of all compared runs over one picture. */
import { skipToken, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { ComparedCurve } from "@/shared/api/types";
import { bucketsOf, rangeQuery, type StepRange } from "@/shared/curves/view";
import { stepsOf, X_SERIES, X_TITLES } from "@/shared/curves/xAxis";
import type { CsvValue } from "@/shared/files/csv";
import { pluralize } from "@/shared/format/number";
import { NO_LOG, RESTART_NOTE } from "@/shared/plot/view";
import {
  kindOfValues,
  seriesKind,
  type SeriesKind,
  titleInText,
  titleWithUnit,
} from "@/shared/series/catalog";
import { useTheme } from "@/shared/theme/theme";
import type { RunGroup } from "../groups/groups";
import { PanelFrame } from "../panels/PanelFrame";
import type { PanelProps } from "../panels/panels";
import { CurveControls } from "./CurveControls";
import { CurvePicture } from "./CurvePicture";
import { type DrawnLine, linesOf, reportedOf } from "./lines";
import { type CurveOptions, curveOptions, groupsOfMeans } from "./options";
import { type CurveRange, rangeOf } from "./ranges";

export function CurvesPanel({ panel, place, onOptions, ids, comparison, groups, isLive }: PanelProps) {
  const options = curveOptions(panel, comparison, groups.all);
  const { lines, isKnown, error } = useLines(ids, groups.visible, groups.fields.length > 0, options, isLive);
  const kind = useKind(options.metric, lines);
  const title = `${kind.title} by ${X_TITLES[options.axis]}`;
  const range = useRange(lines, options, kind.ceiling);
  const legend = legendOf(lines, groups.visible);
  const reason = emptyText(lines, isKnown, error, options);
  return (
    <PanelFrame
      title={title}
      place={place}
      runs={ids}
      legend={legend}
      csv={() => csvOfLines(lines, options)}
      options={<CurveControls {...{ options, comparison, onOptions }} isCut={range.cut > 0} />}
      note={noteOf(range.cut, lines)}
      empty={reason}
    >
      {(width) => (
        <CurvePicture
          {...{ width, lines, options, range, title }}
          yTitle={titleWithUnit(kind)}
          format={kind.format}
          {...(kind.tick ? { tick: kind.tick } : {})}
          pointed={groups.pointed}
          onZoom={(zoom) => {
            onOptions({ from: zoom ? String(zoom.low) : "", to: zoom ? String(zoom.high) : "" });
          }}
        />
      )}
    </PanelFrame>
  );
}

/** Return the kind of the metric that suits all values of the lines. */
function useKind(metric: string, lines: readonly DrawnLine[]): SeriesKind {
  return useMemo(() => {
    const columns = lines.map(({ raw, points }) => [...(raw ?? points).y]);
    return kindOfValues(seriesKind(metric), columns);
  }, [metric, lines]);
}

function useRange(
  lines: readonly DrawnLine[],
  options: CurveOptions,
  ceiling: number | undefined,
): CurveRange {
  const { yLog, isWhole } = options;
  const [low, high] = [options.zoom?.low, options.zoom?.high];
  return useMemo(() => {
    const zoom = low === undefined || high === undefined ? null : { low, high };
    return rangeOf(lines, { yLog, isWhole, zoom }, ceiling);
  }, [lines, yLog, isWhole, ceiling, low, high]);
}

function useLines(
  ids: readonly number[],
  visible: readonly RunGroup[],
  hasFields: boolean,
  options: CurveOptions,
  isLive: boolean,
) {
  const theme = useTheme();
  const { metric, axis, xLog, share, isMean, zoom } = options;
  const places = useComparedCurves(ids, X_SERIES[axis], isLive);
  // a part is answered in finer buckets
  const part: StepRange = zoom && [zoom.low, zoom.high];
  const range = part && stepsOf(part, axis, [...places.curves.values()].map(reportedOf));
  const found = useComparedCurves(ids, metric, isLive, range);
  const lines = useMemo(() => {
    const drawn = isMean ? groupsOfMeans(visible, hasFields, theme) : visible;
    return linesOf(drawn, found.curves, places.curves, { axis, isLog: xLog, smoothing: share, isMean });
  }, [visible, hasFields, theme, found.curves, places.curves, axis, xLog, share, isMean]);
  return { lines, isKnown: found.isKnown && places.isKnown, error: found.error ?? places.error };
}

/** Return what the reader must know of the picture: the curves that leave it, and what a ring is. */
function noteOf(cut: number, lines: readonly DrawnLine[]): string {
  const ring = lines.some(({ restarts }) => restarts.length > 0) ? RESTART_NOTE : "";
  return [cutText(cut), ring].filter(Boolean).join(" ");
}

/** Return how many curves leave the picture. */
function cutText(cut: number): string {
  if (!cut) return "";
  return `${pluralize(cut, "curve")} ${cut === 1 ? "leaves" : "leave"} the picture: "whole range" shows all of it.`;
}

/** Return why there is no picture; null if there is one. */
function emptyText(
  lines: readonly DrawnLine[],
  isKnown: boolean,
  error: Error | null,
  options: CurveOptions,
): string | null {
  const isAbove0 = ({ points }: DrawnLine) => points.y.some((value) => value !== null && value > 0);
  if (lines.length) return options.yLog && !lines.some(isAbove0) ? NO_LOG : null;
  if (error) return `The curves cannot be shown: ${error.message}.`;
  if (!isKnown) return "Loading …";
  if (options.axis !== "step")
    return `No run has both ${titleInText(seriesKind(options.metric))} and ${X_TITLES[options.axis]}.`;
  return `No visible run has reported ${titleInText(seriesKind(options.metric))}.`;
}

/** The legend of a downloaded picture: the groups; of single runs the lines. */
function legendOf(lines: ReturnType<typeof linesOf>, groups: readonly RunGroup[]) {
  const drawn = new Set(lines.map(({ group }) => group));
  const known = groups.filter(({ key }) => drawn.has(key));
  return known.length ? known : lines;
}

/**
 * The data of a picture of curves as lines of a CSV file.
 *
 * Return a line for each point: of single runs the value, of groups mean and band.
 */
export function csvOfLines(
  lines: readonly DrawnLine[],
  { axis, metric, isMean }: Pick<CurveOptions, "axis" | "metric" | "isMean">,
): CsvValue[][] {
  const heads = isMean
    ? ["group", "runs", axis, `mean(${metric})`, "mean - deviation", "mean + deviation"]
    : ["run", "group", axis, metric];
  const rows = lines.flatMap(({ key, label, runs, points, band }) =>
    points.x.map((x, at): CsvValue[] => {
      const y = points.y[at] ?? null;
      return isMean ? [label, runs, x, y, band?.low[at] ?? null, band?.high[at] ?? null] : [key, label, x, y];
    }),
  );
  return [heads, ...rows];
}

export type CurvesById = ReadonlyMap<number, ComparedCurve>;

const NONE: CurvesById = new Map();
const NAME_PART = 2; // of the query's key
const MOST_BUCKETS = 400; // of a curve: a picture of many curves needs no more

/**
 * GET /runs/curves: one series of all compared runs in one request.
 *
 * Return the curves; none without a name.
 */
function useComparedCurves(
  ids: readonly number[],
  name: string | null,
  isLive: boolean,
  range: StepRange = null,
) {
  const view = rangeQuery(range);
  const pollInterval = usePollInterval();
  const buckets = Math.min(MOST_BUCKETS, bucketsOf(0.5));
  const { data, error } = useQuery({
    queryKey: keys.comparedCurves(ids, name ?? "", [buckets, view.from ?? 0, view.to ?? null]),
    queryFn:
      name === null
        ? skipToken
        : async ({ signal }) => {
            const params = { query: { run: [...ids], name, buckets, ...view } };
            const { curves } = await body(client.GET("/api/v1/runs/curves", { params, signal }));
            return new Map(curves.map((curve) => [curve.run_id, curve]));
          },
    // of other runs or another part, but not of another series
    placeholderData: (before, earlier) => (earlier?.queryKey[NAME_PART] === name ? before : undefined),
    refetchInterval: isLive ? pollInterval(false) : false,
    structuralSharing: false, // comparing whole columns costs more than drawing them
    retry: false,
  });
  return { curves: data ?? NONE, isKnown: name === null || data !== undefined, error };
}

/** The lines of an overlay: one for each run, or the mean and the band of each group. */
import type { Column, ComparedCurve } from "@/shared/api/types";
import { smooth } from "@/shared/curves/column";
import { middlesOf } from "@/shared/curves/curve";
import { placesOf, type Reported, type XAxis } from "@/shared/curves/xAxis";
import type { Position } from "@/shared/plot/scales";
import type { RunGroup } from "../groups/groups";
import { type Band, gridOf, meanAndBand, type Points } from "./means";

export interface DrawnLine {
  key: string;
  group: string; // its key
  label: string;
  color: string;
  dash: number[];
  runs: number;
  points: Points;
  raw: Points | null; // what was smoothed
  band: Band | null;
  restarts: number[]; // places from which the run resumed
  notFinite: number[]; // places of values that are NaN or infinite
}

export interface LineOptions {
  axis: XAxis;
  isLog: boolean; // the x axis
  smoothing: number; // the share of a curve over which it is averaged; 0: none
  isMean: boolean;
}

type ById = ReadonlyMap<number, ComparedCurve>;

/** Return the lines of groups; `places` are the curves of the series from which the places on the x axis follow. */
export function linesOf(
  groups: readonly RunGroup[],
  curves: ById,
  places: ById,
  options: LineOptions,
): DrawnLine[] {
  const drawn = groups.flatMap((group) =>
    group.ids.flatMap((id) => {
      const curve = curves.get(id);
      return curve ? lineOf(group, id, curve, places.get(id), options) : [];
    }),
  );
  return options.isMean ? meansOf(groups, drawn, options) : drawn;
}

function lineOf(
  group: RunGroup,
  id: number,
  curve: ComparedCurve,
  known: ComparedCurve | undefined,
  { axis, smoothing, isMean }: LineOptions,
): DrawnLine[] {
  const reported = known ? reportedOf(known) : NOTHING;
  const place = ({ steps, values }: Column): Points => {
    const x = placesOf(steps, axis, reported);
    return { x, y: x.length ? values : [] };
  };
  const means = centersOf(curve);
  const raw = place(isMean ? means : envelopeOf(curve));
  if (!raw.x.length) return [];
  return [
    {
      key: String(id),
      group: group.key,
      label: group.ids.length > 1 ? `Run ${id} (${group.label})` : group.label,
      color: group.color,
      dash: group.dash,
      runs: 1,
      points: smoothing ? place(smooth(means, smoothing)) : raw,
      raw: smoothing ? raw : null,
      band: null,
      restarts: placesOf(curve.restarts, axis, reported),
      notFinite: placesOf(curve.not_finite, axis, reported),
    },
  ];
}

/** Return one line for each group: the mean of its runs, smoothed and raw, and the deviation as a band. */
function meansOf(groups: readonly RunGroup[], drawn: DrawnLine[], { isLog }: LineOptions): DrawnLine[] {
  return groups.flatMap((group) => {
    const own = drawn.filter((line) => line.group === group.key);
    const [first] = own;
    if (!first) return [];
    const grid = gridOf(
      own.map(({ points }) => points),
      isLog,
    );
    const band = meanAndBand(
      own.map(({ points }) => points),
      grid,
    );
    const raw = own.flatMap((line) => line.raw ?? []);
    return {
      ...first,
      key: group.key,
      label: own.length > 1 ? `${group.label} (mean of ${own.length})` : group.label,
      runs: own.length,
      points: band,
      raw: raw.length ? meanAndBand(raw, grid) : null,
      band: own.length > 1 ? band : null,
      restarts: [],
      notFinite: [],
    };
  });
}

const NOTHING: Reported = { known: undefined, devices: 1 };

/** Return what a run reports by the curve of an axis's series. */
export function reportedOf(curve: ComparedCurve): Reported & { end: number } {
  return { known: centersOf(curve), devices: curve.devices, end: curve.last_step };
}

/** Return the mean of each bucket in its middle. */
function centersOf(curve: ComparedCurve): Column {
  return { steps: middlesOf(curve), values: curve.mean };
}

/** Return one or two points for each bucket, so that no spike is lost: first the extreme nearer to the bucket before. */
function envelopeOf(curve: ComparedCurve): Column {
  const { steps, mean, min, max } = curve;
  if (!min || !max) return { steps, values: mean };
  const envelope: Column = { steps: [], values: [] };
  const add = (step: number, value: number | null | undefined) => {
    envelope.steps.push(step);
    envelope.values.push(value ?? null);
  };
  let before = mean[0] ?? 0;
  for (const [at, step] of steps.entries()) {
    const middle = mean[at] ?? before;
    const [first, second] = before > middle ? [max, min] : [min, max];
    add(step, first[at]);
    const next = secondPlace(curve, step);
    if (first[at] !== second[at] && next > step) add(next, second[at]);
    before = middle;
  }
  return envelope;
}

/** Return the step at which the second extreme of a bucket is drawn. */
function secondPlace({ width, last_step }: ComparedCurve, step: number): number {
  return Math.min(step + Math.max(1, Math.floor(width / 2)), last_step);
}

/** Return the path of a line; a gap, and a value that an axis does not have, ends a part of it. */
export function linePath({ x, y }: Points, atX: Position, atY: Position): string {
  let path = "";
  let isOpen = false;
  for (const [index, value] of y.entries()) {
    const [px, py] = [atX(x[index] ?? Number.NaN), value === null ? Number.NaN : atY(value)];
    if (Number.isNaN(px + py)) {
      isOpen = false;
      continue;
    }
    path += `${isOpen ? "L" : "M"}${rounded(px)} ${rounded(py)}`;
    isOpen = true;
  }
  return path;
}

/** Return the path around a band; where its lower edge has no place on a logarithmic axis, at the picture's bottom. */
export function bandPath({ x, low, high }: Band, atX: Position, atY: Position, bottom: number): string {
  const parts: string[] = [];
  let [upper, lower]: [string[], string[]] = [[], []];
  const close = () => {
    if (upper.length > 1) parts.push(`M${upper.join("L")}L${lower.toReversed().join("L")}Z`);
    [upper, lower] = [[], []];
  };
  for (const [index, at] of x.entries()) {
    const [from, to] = [low[index] ?? null, high[index] ?? null];
    const [px, top] = [atX(at), to === null ? Number.NaN : atY(to)];
    if (from === null || Number.isNaN(px + top)) {
      close();
      continue;
    }
    const below = atY(from);
    upper.push(`${rounded(px)} ${rounded(top)}`);
    lower.push(`${rounded(px)} ${rounded(Number.isNaN(below) ? bottom : below)}`);
  }
  close();
  return parts.join("");
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

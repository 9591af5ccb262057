/** A chart as an SVG picture, in the range that it shows: lines, marks and axes, for a file. */
import { element, text } from "@/shared/files/picture";
import { type Axis, axisOf } from "@/shared/frame/axis";
import { valueAt, type Values } from "@/shared/curves/column";
import { tickTexts, widthOf } from "@/shared/format/ticks";
import { token } from "@/shared/theme/theme";
import { xTexts, xTicks } from "./plotAxes";
import { linearPosition } from "./scales";
import { type Line, type View, visibleLines } from "./view";
import type { Range } from "./zoom";

/** The ranges that a chart shows. */
export interface Shown {
  x: Range;
  y: Range;
}

const [WIDTH, HEIGHT] = [900, 420];
const BOX = { right: WIDTH - 20, top: 16, bottom: HEIGHT - 44 };
const LEFT = 64; // of the data; more for long texts of y
const SIGN = 4; // half the size of a sign

export function chartPicture(view: View, { x, y }: Shown, unit: string): SVGSVGElement {
  const { right, top, bottom } = BOX;
  const yAxis = axisOf({ low: y[0], high: y[1] }, view.logarithmic ?? false, bottom, top, { count: 6 });
  const left = Math.max(LEFT, widthOf(tickTexts(yAxis.ticks, view.tick)) + 12);
  const across = { low: x[0], high: x[1], at: linearPosition(x[0], x[1], left, right) };
  const xAxis = { ...across, ticks: xTicks(x[0], x[1], right - left, view) };
  const svg = element("svg", { width: WIDTH, height: HEIGHT });
  svg.append(...grid(xAxis, yAxis, left, view), unitOf(unit));
  // an inner picture cuts what is outside the axes
  const area = { x: left, y: top, width: right - left, height: bottom - top };
  const inner = element("svg", { ...area, viewBox: Object.values(area).join(" ") });
  const seen = new Set(visibleLines(view));
  const drawn = [...view.lines.entries()].filter(([, line]) => seen.has(line));
  // the layers of a stack: the lowest one last, since each is filled down to the bottom
  for (const [at, line] of drawn.some(([, { fill }]) => fill) ? drawn.toReversed() : drawn)
    inner.append(pathOf(line, view.aligned.x, view.aligned.ys[at] ?? [], xAxis, yAxis));
  for (const [at, line] of drawn) inner.append(...signsOf(view, line, at, xAxis, yAxis));
  inner.append(...(view.marks ?? []).map((step) => markOf(xAxis.at(step))));
  svg.append(inner);
  return svg as SVGSVGElement;
}

type Drawn = Pick<Axis, "at" | "ticks">;

function grid(x: Drawn, y: Drawn, left: number, view: View): SVGElement[] {
  const stroke = token("--hairline");
  const { right, top, bottom } = BOX;
  const texts = { x: xTexts(x.ticks, view), y: tickTexts(y.ticks, view.tick) };
  return [
    ...y.ticks.flatMap((value, index) => [
      element("line", { x1: left, x2: right, y1: y.at(value), y2: y.at(value), stroke }),
      text(texts.y[index] ?? "", { ...small(), x: left - 8, y: y.at(value) + 4, "text-anchor": "end" }),
    ]),
    ...x.ticks.flatMap((value, index) => [
      element("line", { x1: x.at(value), x2: x.at(value), y1: top, y2: bottom, stroke }),
      text(texts.x[index] ?? "", { ...small(), x: x.at(value), y: bottom + 17, "text-anchor": "middle" }),
    ]),
  ];
}

function unitOf(unit: string): SVGElement {
  return text(unit, { ...small(), x: BOX.right, y: BOX.bottom + 36, "text-anchor": "end" });
}

function small() {
  return { fill: token("--muted"), "font-size": 12 };
}

function pathOf(line: Line, xs: readonly number[], values: Values, x: Drawn, y: Drawn): SVGElement {
  const known = values.flatMap((value, at) =>
    value === undefined ? [] : [[x.at(xs[at] ?? 0), value === null ? Number.NaN : y.at(value)] as const],
  );
  const path = known.map((point, at) => moveTo(point, known[at - 1])).join("");
  if (line.fill) return element("path", { d: closed(path, known), fill: line.color, stroke: "none" });
  const style = { fill: "none", stroke: line.color, "stroke-linejoin": "round" };
  const width: Record<string, number> = line.behind
    ? { "stroke-width": 1, "stroke-opacity": 0.3 }
    : { "stroke-width": 1.6 };
  const dash: Record<string, string> = line.dash?.length ? { "stroke-dasharray": line.dash.join(" ") } : {};
  return element("path", { d: path, ...style, ...width, ...dash });
}

type Point = readonly [x: number, y: number]; // y is NaN in a gap

/** Return the part of a path to a point; after a gap it begins anew. */
function moveTo([px, py]: Point, before: Point | undefined): string {
  if (!Number.isFinite(py)) return "";
  return `${before && Number.isFinite(before[1]) ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`;
}

/** Return a layer of a stack: the path, closed along the bottom. */
function closed(path: string, known: readonly Point[]): string {
  const [first, last] = [known[0]?.[0] ?? 0, known.at(-1)?.[0] ?? 0];
  return path && `${path}L${last.toFixed(1)} ${BOX.bottom}L${first.toFixed(1)} ${BOX.bottom}Z`;
}

/** Rings where the run resumed, crosses where a value is not finite. */
function signsOf(view: View, { color, behind }: Line, at: number, x: Drawn, y: Drawn): SVGElement[] {
  const rings = (view.restarts?.[at] ?? []).flatMap((place) => {
    const value = valueAt(view.aligned.x, view.aligned.ys[at] ?? [], place);
    if (value === null || Number.isNaN(y.at(value))) return [];
    const style = { fill: token("--surface"), stroke: color, "stroke-width": 1.6 };
    return element("circle", { cx: x.at(place), cy: y.at(value), r: SIGN, ...style });
  });
  if (behind) return rings;
  const crosses = (view.notFinite?.[at] ?? []).slice(0, 200).map(({ step, kind }) => {
    const [px, py] = [x.at(step), kind === "infinity" ? BOX.top + SIGN : BOX.bottom - SIGN];
    const d = `M${px - SIGN} ${py - SIGN}l${2 * SIGN} ${2 * SIGN}m0 ${-2 * SIGN}l${-2 * SIGN} ${2 * SIGN}`;
    return element("path", { d, fill: "none", stroke: color, "stroke-width": 1.5 });
  });
  return [...rings, ...crosses];
}

/** The dashed line where a run resumed. */
function markOf(px: number): SVGElement {
  const ends = { x1: px, x2: px, y1: BOX.top, y2: BOX.bottom };
  return element("line", { ...ends, stroke: token("--muted"), "stroke-dasharray": "4 4" });
}

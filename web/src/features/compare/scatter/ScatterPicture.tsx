/** The picture of a scatter plot: a dot for each run, and the steps of the Pareto front. */
import { useState } from "react";
import { useLocation } from "wouter";
import type { RunData } from "../groups/runData";
import { fieldTitle } from "../groups/fields";
import { axisOf, type Axis, type Extent, padded } from "@/shared/frame/axis";
import { Explorable } from "@/shared/frame/Explorable";
import { type Box, boxOf, Frame } from "@/shared/frame/Frame";
import { frontPath } from "./pareto";
import type { ScatterOptions, ScatterPoint } from "./scatter";
import styles from "./ScatterPicture.module.css";

interface Props {
  width: number;
  points: readonly ScatterPoint[];
  extents: { x: Extent; y: Extent };
  front: readonly number[]; // indices of points
  options: ScatterOptions;
  title: string;
  data: RunData;
  pointed: string | null; // a group
}

const HEIGHT = 320;
const REACH = 40; // pixels
const TICK_PX = 90;

export function ScatterPicture({ width, points, extents, front, options, title, data, pointed }: Props) {
  const [at, setAt] = useState<number | null>(null);
  const [, navigate] = useLocation();
  const box = boxOf(width, HEIGHT);
  const { x, y } = axesOf({ extents, options, data }, box);
  const chosen = at === null ? undefined : points[at];
  return (
    <Explorable
      label={title}
      readout={chosen ? readoutOf(chosen, options, data, front.includes(at ?? -1)) : null}
      at={at ?? 0}
      count={points.length}
      onPointer={(place) => {
        setAt(place && nearest(points, place, x, y));
      }}
      onKey={(key) => {
        if (key === "Enter" && chosen) navigate(`/runs/${chosen.id}`);
        const next = movedIndex(points, at, key);
        if (next !== null) setAt(next);
        return next !== null;
      }}
    >
      <Frame
        {...{ width, box }}
        height={HEIGHT}
        label={title}
        x={titled(x, options.x, data)}
        y={titled(y, options.y, data)}
      >
        <Dots {...{ points, front, options, pointed, x, y }} />
        {chosen && (
          <circle
            data-pointer
            className={styles.chosenDot}
            cx={x.at(chosen.x)}
            cy={y.at(chosen.y)}
            r={7}
            stroke={chosen.group.color}
          />
        )}
      </Frame>
    </Explorable>
  );
}

function axesOf({ extents, options, data }: Pick<Props, "extents" | "options" | "data">, box: Box) {
  const { xLog, yLog } = options;
  const [across, down] = [
    { count: (box.right - box.left) / TICK_PX, unit: data.unit(options.x, extents.x.high) },
    { count: 6, unit: data.unit(options.y, extents.y.high) },
  ];
  return {
    x: axisOf(padded(extents.x, xLog), xLog, box.left, box.right, across),
    y: axisOf(padded(extents.y, yLog), yLog, box.bottom, box.top, down),
  };
}

function titled(axis: Axis, field: string, data: RunData) {
  return {
    axis,
    title: fieldTitle(field),
    tick: (value: number, distance?: number) => data.tick(field, value, distance),
  };
}

interface DotsProps extends Pick<Props, "points" | "front" | "options" | "pointed"> {
  x: Axis;
  y: Axis;
}

function Dots({ points, front, options, pointed, x, y }: DotsProps) {
  const corners = front.flatMap((index) => points[index] ?? []);
  return (
    <>
      <path className={styles.front} d={frontPath(corners, x.at, y.at, options)} />
      {points.map(({ id, group, x: px, y: py }) => (
        <circle
          key={id}
          className={pointed !== null && pointed !== group.key ? styles.fadedDot : styles.runDot}
          cx={x.at(px)}
          cy={y.at(py)}
          r={4}
          fill={group.color}
        />
      ))}
    </>
  );
}

function readoutOf(point: ScatterPoint, { x, y }: ScatterOptions, data: RunData, isOnFront: boolean): string {
  const values = [y, x].map(
    (field) => `${fieldTitle(field)} ${data.text(field, data.value(point.id, field))}`,
  );
  const label = point.group.ids.length > 1 ? `Run ${point.id} (${point.group.label})` : point.group.label;
  return `${label}: ${values.join(", ")}${isOnFront ? ", on the front" : ""}`;
}

function nearest(
  points: readonly ScatterPoint[],
  [px, py]: readonly [number, number],
  x: Axis,
  y: Axis,
): number | null {
  let [found, least]: [number | null, number] = [null, REACH];
  for (const [index, point] of points.entries()) {
    const distance = Math.hypot(x.at(point.x) - px, y.at(point.y) - py);
    if (distance < least) [found, least] = [index, distance];
  }
  return found;
}

/** Return the point after a key, in the order of x; null for another key. */
function movedIndex(points: readonly ScatterPoint[], at: number | null, key: string): number | null {
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }[key];
  if (by === undefined || !points.length) return null;
  const order = [...points.keys()].sort((one, other) => (points[one]?.x ?? 0) - (points[other]?.x ?? 0));
  const from = at === null ? (by > 0 ? -1 : 0) : order.indexOf(at);
  return order.at((from + by) % order.length) ?? null;
}

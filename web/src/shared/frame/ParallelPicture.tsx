/** Parallel coordinates: an axis for each field, a line for each run or trial; the pointer and the keyboard read them. */
import { useState } from "react";
import { Explorable } from "@/shared/frame/Explorable";
import { Frame } from "@/shared/frame/Frame";
import { Overlay } from "@/shared/frame/Overlay";
import styles from "./ParallelPicture.module.css";

export const HEIGHT = 320;
export const [TOP, BOTTOM] = [44, 300];
const SMALLEST_GAP = 74; // pixels between two axes
const SIDE = 62;

export interface DrawnAxis {
  name: string;
  ticks: { at: number; text: string }[];
}

export interface ParallelLine {
  id: number;
  label: string; // what the line stands for
  color: string;
  isFaded: boolean;
  places: readonly (number | null)[]; // on each axis, in pixels; null: a gap
}

interface Props {
  width: number; // the picture is wider if its axes need it
  axes: readonly DrawnAxis[];
  lines: readonly ParallelLine[];
}

export function ParallelPicture({ width: least, axes, lines }: Props) {
  const [chosen, setChosen] = useState<number | null>(null);
  const width = Math.max(least, 2 * SIDE + (axes.length - 1) * SMALLEST_GAP);
  const gap = (width - 2 * SIDE) / Math.max(1, axes.length - 1);
  const at = (index: number) => SIDE + index * gap;
  const box = { left: 0, right: width, top: TOP - 8, bottom: BOTTOM + 8 };
  const line = chosen === null ? undefined : lines[chosen];
  return (
    <Explorable
      label="Parallel coordinates"
      readout={line?.label ?? null}
      at={chosen ?? 0}
      count={lines.length}
      onPointer={(place) => {
        setChosen(place && nearestLine(lines, place, gap));
      }}
      onKey={(key) => {
        const by = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: -1, ArrowRight: 1 }[key];
        if (by === undefined || !lines.length) return false;
        setChosen(((chosen ?? (by > 0 ? -1 : 0)) + by + lines.length) % lines.length);
        return true;
      }}
    >
      <Frame {...{ width, box }} height={HEIGHT} label="Parallel coordinates">
        {lines.map(({ id, color, isFaded, places }) => (
          <path
            key={id}
            className={isFaded ? styles.fadedRun : styles.runLine}
            d={pathOf(places, at)}
            stroke={color}
          />
        ))}
        <AllAxes axes={axes} at={at} />
      </Frame>
      {line && (
        <Overlay {...{ width, box }} height={HEIGHT}>
          <path className={styles.chosenRun} d={pathOf(line.places, at)} stroke={line.color} />
          <AllAxes axes={axes} at={at} />
        </Overlay>
      )}
    </Explorable>
  );
}

function AllAxes({ axes, at }: { axes: readonly DrawnAxis[]; at: (index: number) => number }) {
  return axes.map((axis, index) => (
    <AxisMarks key={axis.name} axis={axis} x={at(index)} isOdd={index % 2 === 1} />
  ));
}

interface AxisMarksProps {
  axis: DrawnAxis;
  x: number;
  isOdd: boolean; // its name is on the second line
}

function AxisMarks({ axis, x, isOdd }: AxisMarksProps) {
  return (
    <g className={styles.parallelAxis}>
      <line x1={x} x2={x} y1={TOP} y2={BOTTOM} />
      <text x={x} y={isOdd ? 28 : 13} textAnchor="middle" className={styles.axisName}>
        {axis.name}
      </text>
      {axis.ticks.map(({ at, text }) => (
        <text key={text} x={x + 6} y={at} dy="0.35em">
          {text}
        </text>
      ))}
    </g>
  );
}

/** Return the path of a line; it has a gap where a value is absent. */
function pathOf(places: readonly (number | null)[], at: (index: number) => number): string {
  let path = "";
  for (const [index, place] of places.entries()) {
    if (place === null) continue;
    const isOpen = index > 0 && places[index - 1] !== null;
    path += `${isOpen ? "L" : "M"}${at(index)} ${place}`;
  }
  return path;
}

const REACH = 30; // pixels

/** Return the index of the line that is nearest to the pointer between two axes. */
function nearestLine(
  lines: readonly { places: readonly (number | null)[] }[],
  [px, py]: readonly [number, number],
  gap: number,
): number | null {
  const place = (px - SIDE) / gap;
  const left = Math.floor(place);
  let [found, least]: [number | null, number] = [null, REACH];
  for (const [index, { places }] of lines.entries()) {
    const [from, to] = [places[left] ?? null, places[left + 1] ?? places[left] ?? null];
    if (from === null || to === null) continue;
    const distance = Math.abs(from + (to - from) * (place - left) - py);
    if (distance < least) [found, least] = [index, distance];
  }
  return found;
}

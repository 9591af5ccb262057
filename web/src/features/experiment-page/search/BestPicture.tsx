/** The best value so far over time: a line of steps, with a dot for each trial that has ended. */
import { useState } from "react";
import type { SearchDetail } from "@/shared/api/types";
import type { CsvValue } from "@/shared/files/csv";
import { formatDuration, secondsBetween } from "@/shared/format/time";
import { axisOf, extentOf, padded, timeUnit } from "@/shared/frame/axis";
import { Explorable } from "@/shared/frame/Explorable";
import { boxOf, Frame } from "@/shared/frame/Frame";
import { useWidth } from "@/shared/page/useWidth";
import styles from "./BestPicture.module.css";
import { PictureFrame } from "./PictureFrame";
import { metricFormat } from "./trials";

const HEIGHT = 240;
const UNITS: Record<number, string> = { 1: "seconds", 60: "minutes", 3600: "hours", 86400: "days" };

export function BestPicture({ search }: { search: SearchDetail }) {
  const [host, width] = useWidth();
  const dots = dotsOf(search);
  return (
    <PictureFrame
      title="Best value so far"
      search={search}
      csv={dots.length ? () => csvOf(dots, search) : null}
    >
      <div ref={host}>
        {dots.length > 0 ? (
          <BestCurve {...{ dots, width }} metric={search.spec.metric} />
        ) : (
          <p className="small muted">No trial with a value has ended.</p>
        )}
      </div>
    </PictureFrame>
  );
}

interface CurveProps {
  dots: readonly Dot[];
  width: number;
  metric: string;
}

/** The axes and the line, of which the pointer and the arrow keys read the trials. */
function BestCurve({ dots, width, metric }: CurveProps) {
  const [chosen, setChosen] = useState<number | null>(null);
  const { title, format } = metricFormat(metric);
  const box = boxOf(width, HEIGHT, 64);
  const high = Math.max(1, ...dots.map(({ at }) => at));
  const unit = timeUnit(high);
  const x = axisOf({ low: 0, high }, false, box.left, box.right, { count: width / 110, unit });
  const extent = extentOf(dots.map(({ value }) => value)) ?? { low: 0, high: 1 };
  const y = axisOf(padded(extent, false), false, box.bottom, box.top, { count: 5 });
  const dot = chosen === null ? undefined : dots[chosen];
  return (
    <Explorable
      label="Best value so far"
      readout={dot ? readoutOf(dot, format) : null}
      at={chosen ?? 0}
      count={dots.length}
      onPointer={(place) => {
        setChosen(place && nearest(dots, place[0], x.at));
      }}
      onKey={(key) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
        if (by === undefined) return false;
        setChosen(((chosen ?? (by > 0 ? -1 : 0)) + by + dots.length) % dots.length);
        return true;
      }}
    >
      <Frame
        {...{ width, box }}
        height={HEIGHT}
        label="Best value so far over time"
        x={{
          axis: x,
          title: UNITS[unit] ?? "",
          tick: (value) => String(Number((value / unit).toPrecision(3))),
        }}
        y={{ axis: y, title, tick: (value) => format(value) }}
      >
        <TrialMarks {...{ dots }} chosen={dot} atX={x.at} atY={y.at} right={box.right} />
      </Frame>
    </Explorable>
  );
}

interface MarksProps {
  dots: readonly Dot[];
  chosen: Dot | undefined;
  atX: (value: number) => number;
  atY: (value: number) => number;
  right: number;
}

/** The line of the best values, a dot for each trial, and a ring around the chosen one. */
function TrialMarks({ dots, chosen, atX, atY, right }: MarksProps) {
  const best = dots.filter(({ isBest }) => isBest);
  return (
    <>
      <path className={styles.bestLine} d={stepPath(best, atX, atY, right)} />
      {dots.map(({ number, at, value, isBest }) => (
        <circle
          key={number}
          className={isBest ? styles.bestDot : styles.trialDot}
          cx={atX(at)}
          cy={atY(value)}
          r={isBest ? 4 : 3}
        />
      ))}
      {chosen && <circle className={styles.chosenTrial} cx={atX(chosen.at)} cy={atY(chosen.value)} r={7} />}
    </>
  );
}

interface Dot {
  number: number;
  at: number; // seconds since the first trial
  value: number;
  isBest: boolean; // of all that had ended
}

function dotsOf({ trials, best_so_far }: SearchDetail): Dot[] {
  const begin = trials[0]?.asked_at ?? "";
  const best = new Set(best_so_far.map(({ number }) => number));
  return trials
    .flatMap(({ number, ended_at, value }) =>
      ended_at === null || value === null
        ? []
        : [{ number, at: secondsBetween(begin, ended_at), value, isBest: best.has(number) }],
    )
    .toSorted((one, other) => one.at - other.at);
}

function csvOf(dots: readonly Dot[], { spec }: SearchDetail): CsvValue[][] {
  const rows = dots.map(({ number, at, value, isBest }) => [number, at, value, isBest]);
  return [["trial", "seconds since the first trial", spec.metric, "best so far"], ...rows];
}

function readoutOf({ number, value, at, isBest }: Dot, format: (value: number) => string): string {
  return `Trial ${number}: ${format(value)} after ${formatDuration(at)}${isBest ? ", the best so far" : ""}`;
}

function stepPath(
  best: readonly Dot[],
  atX: (value: number) => number,
  atY: (value: number) => number,
  right: number,
): string {
  const parts = best.map(({ at, value }, index) =>
    index === 0 ? `M${atX(at)} ${atY(value)}` : `H${atX(at)}V${atY(value)}`,
  );
  return parts.length ? `${parts.join("")}H${right}` : "";
}

function nearest(dots: readonly Dot[], px: number, atX: (value: number) => number): number | null {
  let [found, least]: [number | null, number] = [null, Infinity];
  for (const [index, { at }] of dots.entries()) {
    const distance = Math.abs(atX(at) - px);
    if (distance < least) [found, least] = [index, distance];
  }
  return found;
}

/** Times and durations as text. */
import { digitsOf } from "./number";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Return a duration in at most two units: 850 ms, 12 s, 4 min 10 s, 2 h 5 min, 3 d 4 h. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return inTwoUnits(whole, MINUTE, "min", 1, "s");
  if (whole < DAY) return inTwoUnits(whole, HOUR, "h", MINUTE, "min");
  return inTwoUnits(whole, DAY, "d", HOUR, "h");
}

/** Return a duration in one unit, for estimates and ages: 4 min. */
export function formatRoughly(seconds: number): string {
  if (seconds < MINUTE) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < HOUR) return `${Math.round(seconds / MINUTE)} min`;
  if (seconds < 2 * DAY) return `${Math.round(seconds / HOUR)} h`;
  return `${Math.round(seconds / DAY)} d`;
}

/** Return the time of a step: 12.3 ms, 1.23 s; of a tick with as many digits as its distance from the next one needs. */
export function formatStepTime(seconds: number | null | undefined, distance?: number): string {
  if (seconds === null || seconds === undefined) return "–";
  const digits = Math.max(3, digitsOf(seconds, distance));
  return Math.abs(seconds) < 1
    ? `${Number((seconds * 1000).toPrecision(digits))} ms`
    : `${Number(seconds.toPrecision(digits))} s`;
}

export function formatAge(from: string, now: number): string {
  return `${formatRoughly(Math.max(1, secondsBetween(from, now)))} ago`;
}

export function secondsBetween(from: string, to: string | number): number {
  return (new Date(to).getTime() - new Date(from).getTime()) / 1000;
}

/** Return 14:03:59, after the date when the time is not today. */
export function formatClock(at: string, now: number): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString("en-GB");
  const today = date.toDateString() === new Date(now).toDateString();
  return today ? time : `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${time}`;
}

/** Return a moment with its zone, and as queries of runs call it: "26/11/2026, 15:03:59 CET (2026-11-26T14:03:59 UTC)". */
export function formatMoment(at: string): string {
  const date = new Date(at);
  const local = date.toLocaleString("en-GB", { dateStyle: "short", timeStyle: "long" });
  return `${local} (${date.toISOString().slice(0, 19)} UTC)`;
}

function inTwoUnits(value: number, unit: number, name: string, part: number, partName: string): string {
  const rest = Math.floor((value % unit) / part);
  return `${Math.floor(value / unit)} ${name}${rest ? ` ${rest} ${partName}` : ""}`;
}

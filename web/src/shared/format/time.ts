/** Times and durations in the fewest words that still say it. */
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** 850 ms, 12 s, 4 min 10 s, 2 h 5 min, 3 d 4 h. */
export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return two(whole, MINUTE, "min", 1, "s");
  if (whole < DAY) return two(whole, HOUR, "h", MINUTE, "min");
  return two(whole, DAY, "d", HOUR, "h");
}

/** The same in one unit, for estimates and ages: 4 min. */
export function roughly(seconds: number): string {
  if (seconds < MINUTE) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < HOUR) return `${Math.round(seconds / MINUTE)} min`;
  if (seconds < 2 * DAY) return `${Math.round(seconds / HOUR)} h`;
  return `${Math.round(seconds / DAY)} d`;
}

/** Time spent on one step: 12.3 ms, 1.23 s. */
export function stepTime(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "–";
  return seconds < 1
    ? `${Number((seconds * 1000).toPrecision(3))} ms`
    : `${Number(seconds.toPrecision(3))} s`;
}

export function age(from: string, now: number): string {
  return `${roughly(Math.max(1, secondsBetween(from, now)))} ago`;
}

export function secondsBetween(from: string, to: string | number): number {
  return (new Date(to).getTime() - new Date(from).getTime()) / 1000;
}

/** 14:03:59, with the day in front when that was not today. */
export function clock(at: string, now: number): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString("en-GB");
  const today = date.toDateString() === new Date(now).toDateString();
  return today ? time : `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${time}`;
}

function two(value: number, unit: number, name: string, part: number, partName: string): string {
  const rest = Math.floor((value % unit) / part);
  return `${Math.floor(value / unit)} ${name}${rest ? ` ${rest} ${partName}` : ""}`;
}

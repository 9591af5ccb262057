/** The service's clock, by the Date of its answers: ages and durations are right where the browser's clock is not. */
import { useEffect, useState } from "react";

const HALF_SECOND = 500; // a Date has whole seconds
const UNSURE_MS = 2000; // of one answer: its second, and the time that it took

let ahead = 0; // milliseconds by which the service's clock is ahead of the browser's
const listeners = new Set<() => void>();

/** Note the Date of an answer that has just come. */
export function recordDate(date: string | null): void {
  const moment = date === null ? NaN : Date.parse(date);
  if (Number.isNaN(moment)) return;
  const found = moment + HALF_SECOND - Date.now();
  if (Math.abs(found - ahead) <= UNSURE_MS) return; // a clock that moves with each answer would shake all ages
  ahead = Math.abs(found) <= UNSURE_MS ? 0 : found;
  listeners.forEach((listener) => {
    listener();
  });
}

/** Return the moment by the service's clock, in milliseconds since 1970. */
export function serviceNow(): number {
  return Date.now() + ahead;
}

/** Call `listener` when the service's clock is found to differ; return what ends that. */
function onClockChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The service's current time, updated at an interval, for ages and running clocks. */
export function useNow(every_ms = 1000): number {
  const [now, setNow] = useState(serviceNow);
  useEffect(() => {
    const update = () => {
      setNow(serviceNow());
    };
    const timer = setInterval(update, every_ms);
    const forget = onClockChange(update);
    return () => {
      clearInterval(timer);
      forget();
    };
  }, [every_ms]);
  return now;
}

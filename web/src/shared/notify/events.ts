/** The events of notifications, as pages name them. */
import type { NotifyEvent } from "@/shared/api/types";

export const EVENTS: Record<NotifyEvent, string> = {
  end: "end of the experiment",
  failure: "failure of a run",
  preemption: "preemption of a run",
  anomaly: "anomaly: loss not finite, or a stalled rank",
  budget: "rank-hours of the search are used",
};

export const ALL_EVENTS = Object.keys(EVENTS) as NotifyEvent[];

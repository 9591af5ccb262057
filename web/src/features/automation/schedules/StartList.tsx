/** The newest starts of a schedule: the experiment that each made, or why it made none. */
import { Link } from "wouter";
import type { ScheduleDetail } from "@/shared/api/types";
import { formatClock, formatMoment } from "@/shared/format/time";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { useNow } from "@/shared/api/clock";
import { StateMark } from "@/shared/state/StateMark";
import { useSchedule } from "../api/useSchedules";
import styles from "./SchedulesPanel.module.css";

const MARKS = { created: "done", waiting: "queued", skipped: "cancelled", failed: "failed" } as const;

export function StartList({ scheduleId }: { scheduleId: number }) {
  const { data, error } = useSchedule(scheduleId);
  const now = useNow(10_000);
  if (!data) return <QueryStatus error={error} />;
  if (!data.starts.length) return <p className="muted small">It has not started yet.</p>;
  return (
    <ol className={styles.starts} aria-label={`Starts of ${data.name}`}>
      {data.starts.map((start) => (
        <Start key={start.key} start={start} now={now} />
      ))}
    </ol>
  );
}

function Start({ start, now }: { start: ScheduleDetail["starts"][number]; now: number }) {
  const { at, status, experiment_id, message } = start;
  return (
    <li>
      <StateMark state={MARKS[status]} label={status} />
      <time className="small muted" dateTime={at} title={formatMoment(at)}>
        {formatClock(at, now)}
      </time>
      {experiment_id !== null && (
        <Link href={`/experiments/${experiment_id}`}>experiment {experiment_id}</Link>
      )}
      {message && <span className="small">{message}</span>}
    </li>
  );
}

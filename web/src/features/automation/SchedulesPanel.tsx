/** The schedules: when each starts, its newest starts, and buttons to pause, resume and delete it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { body, client, done } from "@/shared/api/client";
import { useNow } from "@/shared/api/clock";
import { keys } from "@/shared/api/keys";
import { pollInterval } from "@/shared/api/polling";
import type { ScheduleDetail, ScheduleView } from "@/shared/api/types";
import { DeleteButton } from "@/shared/dialog/DeleteButton";
import { formatClock, formatMoment, formatRoughly, secondsBetween } from "@/shared/format/time";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { StateMark } from "@/shared/state/StateMark";
import styles from "./SchedulesPanel.module.css";

export function SchedulesPanel() {
  const { data: schedules, error } = useSchedules();
  if (!schedules) return <QueryStatus error={error} />;
  return (
    <section className={classNames("panel", styles.schedulesPanel)} aria-label="Schedules">
      <PanelHeader>
        <h2>Schedules</h2>
        <span className="small muted">by the clock, or when a file appears</span>
      </PanelHeader>
      {schedules.length ? (
        <ul className={styles.schedules}>
          {schedules.map((schedule) => (
            <Schedule key={schedule.id} schedule={schedule} />
          ))}
        </ul>
      ) : (
        <p className={classNames("muted", styles.noSchedule)}>
          There is none yet. <code>bigbatch schedule add NAME FILE --cron &apos;30 2 * * *&apos;</code> stores
          one.
        </p>
      )}
    </section>
  );
}

function Schedule({ schedule }: { schedule: ScheduleView }) {
  const [isOpen, setOpen] = useState(false);
  const { id, name, owner, experiment_name, missed, overlap } = schedule;
  const now = useNow(10_000);
  return (
    <li>
      <div className={styles.scheduleLine}>
        <strong>{name}</strong>
        <span>{experiment_name}</span>
        <code>{whenText(schedule)}</code>
        <span className="small muted">
          {[owner, nextText(schedule, now), RULES[missed], OVERLAPS[overlap]].filter(Boolean).join(" · ")}
        </span>
        <span className={styles.scheduleActions}>
          <button
            className="button small"
            aria-expanded={isOpen}
            aria-label={`Starts of ${name}`}
            onClick={() => {
              setOpen(!isOpen);
            }}
          >
            Starts
          </button>
          <PauseButton schedule={schedule} />
          <DeleteSchedule {...{ id, name }} />
        </span>
      </div>
      {isOpen && <StartList scheduleId={id} />}
    </li>
  );
}

function PauseButton({ schedule }: { schedule: ScheduleView }) {
  const { id, name, paused_at } = schedule;
  const pause = usePauseSchedule(id);
  const action = paused_at ? "Resume" : "Pause";
  return (
    <button
      className="button small"
      aria-label={`${action} ${name}`}
      disabled={pause.isPending}
      onClick={() => {
        pause.mutate(!paused_at);
      }}
    >
      {action}
    </button>
  );
}

function DeleteSchedule({ id, name }: { id: number; name: string }) {
  const remove = useDeleteSchedule(id);
  const onConfirm = () => {
    remove.mutate(undefined);
  };
  return (
    <DeleteButton kind="schedule" {...{ name, remove, onConfirm }}>
      Its experiments stay.
    </DeleteButton>
  );
}

const RULES = {
  run_once: "one start for all that were missed",
  skip: "missed starts are left out",
  run_all: "each missed start is made up for",
};
const OVERLAPS = {
  skip: "one experiment at a time",
  queue: "starts wait for each other",
  allow: "side by side",
};

function whenText({ cron, time_zone, path }: ScheduleView): string {
  return cron === null ? `file ${path ?? ""}` : `${cron} (${time_zone})`;
}

function nextText({ paused_at, next_at }: ScheduleView, now: number): string {
  if (paused_at) return "paused";
  if (next_at === null) return "when the file appears or changes";
  const wait = secondsBetween(new Date(now).toISOString(), next_at);
  return wait > 1 ? `next in ${formatRoughly(wait)}` : "starts now";
}

const MARKS = { created: "done", waiting: "queued", skipped: "cancelled", failed: "failed" } as const;

/** The newest starts of a schedule: the experiment that each made, or why it made none. */
function StartList({ scheduleId }: { scheduleId: number }) {
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

/** GET, PATCH and DELETE of /schedules. */
function useSchedules() {
  return useQuery({
    queryKey: keys.schedules(),
    queryFn: async ({ signal }) => (await body(client.GET("/api/v1/schedules", { signal }))).schedules,
    refetchInterval: pollInterval(false),
  });
}

function useSchedule(id: number) {
  return useQuery({
    queryKey: keys.schedule(id),
    queryFn: ({ signal }) => {
      const params = { path: { schedule_id: id } };
      return body(client.GET("/api/v1/schedules/{schedule_id}", { params, signal }));
    },
    refetchInterval: pollInterval(false),
  });
}

function usePauseSchedule(id: number) {
  return useScheduleMutation((paused: boolean) => {
    const params = { path: { schedule_id: id } };
    return body(client.PATCH("/api/v1/schedules/{schedule_id}", { params, body: { paused } }));
  });
}

function useDeleteSchedule(id: number) {
  return useScheduleMutation(() =>
    done(client.DELETE("/api/v1/schedules/{schedule_id}", { params: { path: { schedule_id: id } } })),
  );
}

function useScheduleMutation<Request, Result>(send: (request: Request) => Promise<Result>) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.schedules() }),
  });
}

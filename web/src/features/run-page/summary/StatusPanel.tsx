/** What of a run needs attention: that it diverged, why it failed, why it waits, that its cluster does not answer. */
import type { ReactNode } from "react";
import type { RunDetail } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { formatAge } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { useNow } from "@/shared/api/clock";
import { FirstFailure } from "./FirstFailure";
import styles from "./StatusPanel.module.css";

const HEADINGS: Partial<Record<RunDetail["state"], string>> = {
  running: "Warning",
  paused: "Paused",
  done: "Done",
  cancelled: "Cancelled",
};

export function StatusPanel({ run }: { run: RunDetail }) {
  return (
    <>
      {run.diverged && (
        <Panel heading="Diverged" className={styles.failed} label="Divergence">
          <p className={styles.statusReason}>{run.diverged.sentence}.</p>
        </Panel>
      )}
      <StateReason run={run} />
    </>
  );
}

function StateReason({ run }: { run: RunDetail }) {
  const now = useNow(5000);
  if (run.state === "failed") {
    return (
      <Panel heading={`Failed at step ${formatCount(run.step)}`} className={styles.failed}>
        <p className={styles.statusReason}>{run.reason ?? "No rank reported a reason. See the log."}</p>
        {run.failure && <FirstFailure failure={run.failure} reason={run.reason} />}
      </Panel>
    );
  }
  if (run.unknown_since) {
    const heading = `The cluster has not answered for this run since ${formatAge(run.unknown_since, now)}`;
    return (
      <Panel heading={heading} className={styles.waiting}>
        <p>The page shows the last known state. The run itself may still be training.</p>
      </Panel>
    );
  }
  if (!run.reason) return null;
  return (
    <Panel
      heading={run.stopping ? "Stopping" : (HEADINGS[run.state] ?? "Waiting")}
      className={styles.waiting}
    >
      <p className={styles.statusReason}>{run.reason}</p>
    </Panel>
  );
}

interface PanelProps {
  heading: string;
  className: string | undefined;
  label?: string;
  children: ReactNode;
}

function Panel({ heading, className, label = "Status", children }: PanelProps) {
  return (
    <section className={classNames(styles.statusPanel, className)} aria-label={label}>
      <h2>{heading}</h2>
      {children}
    </section>
  );
}

/** What a reader must not overlook: why the run fell, what it waits for, that its cluster is silent. */
import type { RunDetail } from "@/shared/api/types";
import { count } from "@/shared/format/number";
import { age } from "@/shared/format/time";
import { useNow } from "@/shared/page/useNow";
import { FirstFailure } from "./FirstFailure";

const HEADINGS: Partial<Record<RunDetail["state"], string>> = {
  running: "Held up",
  paused: "Paused",
  done: "Done",
  cancelled: "Cancelled",
};

export function Trouble({ run }: { run: RunDetail }) {
  const now = useNow(5000);
  if (run.state === "failed") {
    return (
      <div className="trouble failed">
        <h2>Failed at step {count(run.step)}</h2>
        <p className="trouble-reason">{run.reason ?? "No rank said why; the log may."}</p>
        {run.failure && <FirstFailure failure={run.failure} reason={run.reason} />}
      </div>
    );
  }
  if (run.unknown_since) {
    return (
      <div className="trouble waiting">
        <h2>The cluster has not answered for this run since {age(run.unknown_since, now)}</h2>
        <p>The run itself may well be training; its state is as it was last known.</p>
      </div>
    );
  }
  if (!run.reason) return null;
  return (
    <div className="trouble waiting">
      <h2>{run.stopping ? "Stopping" : (HEADINGS[run.state] ?? "Waiting")}</h2>
      <p className="trouble-reason">{run.reason}</p>
    </div>
  );
}

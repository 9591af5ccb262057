/** The page of a run: state, metrics, history, curves, time split, spec and log. */
import { useState } from "react";
import type { RunDetail } from "@/shared/api/types";
import { CheckpointAdvice } from "@/shared/checkpoints/CheckpointAdvice";
import type { StepRange } from "@/shared/curves/view";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { Announcement } from "@/shared/page/Announcement";
import { classNames } from "@/shared/page/classNames";
import { useTitle } from "@/shared/page/useTitle";
import { formatCount } from "@/shared/format/number";
import { stepShare } from "@/shared/state/progress";
import { hasEnded } from "@/shared/state/state";
import { usePoints } from "./api/usePoints";
import { useRun } from "./api/useRun";
import { RunCurves } from "./charts/RunCurves";
import { StepTimePanel } from "./charts/StepTimePanel";
import { ComparisonPanel } from "./comparison/ComparisonPanel";
import { EndedAttempts } from "./history/EndedAttempts";
import { LostRankList } from "./history/LostRankList";
import { RemovalList } from "./history/RemovalList";
import { RestartList } from "./history/RestartList";
import { StateTimeline } from "./history/StateTimeline";
import { ProgramPanel } from "./program/ProgramPanel";
import { StacksPanel } from "./program/StacksPanel";
import styles from "./RunPage.module.css";
import { RunHeader } from "./summary/RunHeader";
import { RunMetrics } from "./summary/RunMetrics";
import { StatusPanel } from "./summary/StatusPanel";
import { LogPanel } from "./texts/LogPanel";
import { SpecPanel } from "./texts/SpecPanel";

export function RunPage({ id }: { id: number }) {
  const { data, error } = useRun(id);
  if (!data) return <QueryStatus error={error} />;
  return <Run key={data.id} run={data} />;
}

function Run({ run }: { run: RunDetail }) {
  const [range, setRange] = useState<StepRange>(null);
  const points = usePoints(run);
  const finer = usePoints(run, range);
  const { series } = points;
  const live = !hasEnded(run.state);
  const { spec } = run;
  useTitle(`${progressText(run)} · Run ${run.id}`);
  return (
    <>
      <Announcement text={`Run ${run.id} is ${run.stopping ? "stopping" : run.state}`} />
      <RunHeader run={run} />
      <StatusPanel run={run} />
      <RunMetrics run={run} series={series} />
      <StateTimeline run={run} />
      <div className={classNames("small", styles.history)}>
        <RemovalList run={run} />
        <RestartList run={run} />
        <LostRankList run={run} />
        <EndedAttempts run={run} />
      </div>
      <RunCurves run={run} points={points} finer={finer.series} onRange={setRange} />
      <StepTimePanel run={run} series={series} />
      {spec.kind === "program" ? (
        <>
          <ProgramPanel run={run} spec={spec} />
          <StacksPanel run={run} />
        </>
      ) : (
        <CheckpointAdvice experimentId={run.experiment_id} world={run.world} />
      )}
      <div className={styles.texts}>
        <SpecPanel run={run} />
        <LogPanel runId={run.id} live={live} />
      </div>
      <ComparisonPanel runId={run.id} />
    </>
  );
}

/** Return "30%" or "step 120" of a running run, and the state of any other. */
function progressText(run: RunDetail): string {
  if (run.state !== "running") return run.state;
  const share = stepShare(run);
  return share === null ? `step ${formatCount(run.step)}` : `${Math.floor(share * 100)}%`;
}

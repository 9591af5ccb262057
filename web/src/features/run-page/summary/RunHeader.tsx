/** Which run this is, in what state, and the way to stop it. */
import { Link } from "wouter";
import type { RunDetail } from "@/shared/api/types";
import { StopButton } from "@/shared/dialog/StopButton";
import { count } from "@/shared/format/number";
import { axisNames, valueText } from "@/shared/format/value";
import { StateMark } from "@/shared/state/StateMark";
import { hasEnded } from "@/shared/state/state";
import { useExperimentName } from "@/features/run-page/api/useExperimentName";
import { useStopRun } from "@/features/run-page/api/useStopRun";

export function RunHead({ run }: { run: RunDetail }) {
  const stop = useStopRun(run.id);
  const experiment = useExperimentName(run.experiment_id);
  const values = Object.entries(run.values);
  const names = axisNames(values.map(([path]) => path));
  return (
    <header className="page-head">
      <nav className="crumbs" aria-label="Where this is">
        <Link href="/">Experiments</Link>
        <span aria-hidden="true">/</span>
        <Link href={`/experiments/${run.experiment_id}`}>{experiment}</Link>
      </nav>
      <div className="page-title">
        <h1>
          Run {run.id}
          {values.map(([path, value]) => (
            <span key={path} className="run-value" title={path}>
              {names.get(path)} <b>{valueText(value)}</b>
            </span>
          ))}
        </h1>
        <div className="page-state">
          <StateMark state={run.state} stopping={run.stopping} />
          <span className="muted">{placeText(run)}</span>
        </div>
        {!hasEnded(run.state) && (
          <StopButton what={`run ${run.id}`} stop={stop} stopping={run.stopping}>
            It has taken {count(run.step)} of {count(run.steps)} steps. What has been measured stays; a
            stopped run does not go on later.
          </StopButton>
        )}
      </div>
    </header>
  );
}

/** "slurm job 4211, attempt 2" */
function placeText(run: RunDetail): string {
  const job = run.job_id ? ` job ${run.job_id}` : "";
  return `${run.cluster}${job}${run.attempt > 1 ? `, attempt ${run.attempt}` : ""}`;
}

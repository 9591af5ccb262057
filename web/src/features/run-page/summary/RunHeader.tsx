/** The head of a run's page: its id, axis values and state, and the button that stops it. */
import { Link } from "wouter";
import type { RunDetail } from "@/shared/api/types";
import { StopButton } from "@/shared/dialog/StopButton";
import { axisNames, valueText } from "@/shared/format/value";
import { PageHeader } from "@/shared/page/PageHeader";
import { stepsText } from "@/shared/state/progress";
import { hasEnded } from "@/shared/state/state";
import { StateMark } from "@/shared/state/StateMark";
import { useExperimentName } from "../api/useExperimentName";
import { useStopRun } from "../api/useStopRun";
import styles from "./RunHeader.module.css";

export function RunHeader({ run }: { run: RunDetail }) {
  const stop = useStopRun(run.id);
  const experiment = useExperimentName(run.experiment_id);
  const values = Object.entries(run.values);
  const names = axisNames(values.map(([path]) => path));
  return (
    <PageHeader
      breadcrumbs={
        <>
          <Link href="/">Experiments</Link>
          <span aria-hidden="true">/</span>
          <Link href={`/experiments/${run.experiment_id}`}>{experiment}</Link>
        </>
      }
      title={
        <>
          Run {run.id}
          {values.map(([path, value]) => (
            <span key={path} className={styles.axisValue} title={path}>
              {names.get(path)} <b>{valueText(value)}</b>
            </span>
          ))}
        </>
      }
      status={
        <>
          <StateMark state={run.state} stopping={run.stopping} />
          <span className="muted">{jobText(run)}</span>
        </>
      }
      action={
        !hasEnded(run.state) && (
          <StopButton target={`run ${run.id}`} stop={stop} stopping={run.stopping}>
            The run has taken {stepsText(run)}. Its curves remain stored. A stopped run can be resumed from
            its newest checkpoint.
          </StopButton>
        )
      }
    />
  );
}

/** Return "slurm job 4211, attempt 2". */
function jobText(run: RunDetail): string {
  const job = run.job_id ? ` job ${run.job_id}` : "";
  return `${run.cluster}${job}${run.attempt > 1 ? `, attempt ${run.attempt}` : ""}`;
}

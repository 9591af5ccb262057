/** The head of a run's page: its id, axis values and state, its tags, and what may be done with it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { RunDetail } from "@/shared/api/types";
import { axisNames, valueText } from "@/shared/format/value";
import { Labels } from "@/shared/labels/Labels";
import { useRefresh } from "@/shared/lifecycle/changes";
import { PageHeader } from "@/shared/page/PageHeader";
import { DivergedMark, StateMark } from "@/shared/state/StateMark";
import { RunActions } from "../actions/RunActions";
import styles from "./RunHeader.module.css";

export function RunHeader({ run }: { run: RunDetail }) {
  const refresh = useRefresh(run.experiment_id, run.id);
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
          <StateMark state={run.state} stopping={run.stopping} afterFailure={run.after_failure} />
          <DivergedMark diverged={run.diverged} />
          <span className="muted">{jobText(run)}</span>
          {run.archived_at && <span className="muted">archived</span>}
          {run.left_out !== null && <span className="muted">left out of answers: {run.left_out}</span>}
        </>
      }
      action={<RunActions run={run} />}
    >
      <Labels target={{ kind: "run", id: run.id }} {...{ tags: run.tags, notes: run.notes, refresh }} />
    </PageHeader>
  );
}

/** Return "slurm job 4211, attempt 2". */
function jobText(run: RunDetail): string {
  const job = run.job_id ? ` job ${run.job_id}` : "";
  return `${run.cluster}${job}${run.attempt > 1 ? `, attempt ${run.attempt}` : ""}`;
}

const RARELY_CHANGES_MS = 60_000;

/** GET /experiments/{id}: the name of the run's experiment. */
function useExperimentName(id: number): string {
  const query = useQuery({
    queryKey: keys.experimentName(id),
    queryFn: async ({ signal }) => {
      const params = { path: { experiment_id: id } };
      return (await body(client.GET("/api/v1/experiments/{experiment_id}", { params, signal }))).name;
    },
    staleTime: RARELY_CHANGES_MS,
  });
  return query.data ?? `Experiment ${id}`;
}

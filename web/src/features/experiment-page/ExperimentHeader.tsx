/** The head of an experiment's page: its name, state and progress, and the button that stops it. */
import { Link } from "wouter";
import type { ExperimentDetail } from "@/shared/api/types";
import { StopButton } from "@/shared/dialog/StopButton";
import { formatPercent, pluralize } from "@/shared/format/number";
import { formatAge } from "@/shared/format/time";
import { PageHeader } from "@/shared/page/PageHeader";
import { useNow } from "@/shared/page/useNow";
import { commandTemplate } from "@/shared/program/commandText";
import { hasEnded } from "@/shared/state/state";
import { countsText, StateBar } from "@/shared/state/StateBar";
import { StateMark } from "@/shared/state/StateMark";
import { useStopExperiment } from "./api/useStopExperiment";
import styles from "./ExperimentHeader.module.css";

interface Props {
  experiment: ExperimentDetail;
  stopping: boolean;
}

export function ExperimentHeader({ experiment, stopping }: Props) {
  const { id, name, description, state, counts } = experiment;
  const { base } = experiment.spec;
  const stop = useStopExperiment(id);
  const now = useNow(10_000);
  const active = activeCounts(counts);
  const activeRuns = Object.values(active).reduce((sum, n) => sum + n, 0);
  return (
    <PageHeader
      breadcrumbs={<Link href="/">Experiments</Link>}
      title={name}
      status={
        <>
          <StateMark state={state} stopping={stopping} />
          <span className="muted">submitted {formatAge(experiment.created_at, now)}</span>
        </>
      }
      action={
        activeRuns > 0 && (
          <StopButton target={pluralize(activeRuns, "run")} stop={stop} stopping={stopping}>
            {countsText(active)}. The curves remain stored. A stopped run can be resumed from its newest
            checkpoint.
          </StopButton>
        )
      }
      description={
        <>
          {description}
          {base.kind === "program" && <code className={styles.commandTemplate}>{commandTemplate(base)}</code>}
        </>
      }
    >
      <Progress experiment={experiment} />
    </PageHeader>
  );
}

/** The progress of all runs, and the best accuracy; a program may report none. */
function Progress({ experiment }: { experiment: ExperimentDetail }) {
  const { state, counts, progress } = experiment;
  const { base } = experiment.spec;
  return (
    <div className={styles.progressSummary}>
      <div>
        <StateBar counts={counts} progress={progress} />
        <p className="small">
          {!hasEnded(state) && <strong>{Math.floor(progress * 100)}% of all steps</strong>}
          <span className="muted"> {countsText(counts)}</span>
        </p>
      </div>
      {(base.kind !== "program" || experiment.best_accuracy !== null) && (
        <p>
          <span className={styles.bestAccuracy}>{formatPercent(experiment.best_accuracy)}</span>
          <span className="small muted">best held-out accuracy</span>
        </p>
      )}
    </div>
  );
}

/** Return the counts of the runs that have not ended. */
function activeCounts(counts: ExperimentDetail["counts"]): ExperimentDetail["counts"] {
  return Object.fromEntries(
    Object.entries(counts).filter(([state]) => !hasEnded(state as ExperimentDetail["state"])),
  );
}

/** The head of an experiment's page: its name, state and progress, its labels, and what may be done with it. */
import { Link } from "wouter";
import type { ExperimentDetail } from "@/shared/api/types";
import { formatAge } from "@/shared/format/time";
import { Labels } from "@/shared/labels/Labels";
import { useRefresh } from "@/shared/lifecycle/changes";
import { PageHeader } from "@/shared/page/PageHeader";
import { useNow } from "@/shared/api/clock";
import { commandTemplate } from "@/shared/format/command";
import { seriesKind } from "@/shared/series/catalog";
import { objectiveText } from "./objective";
import { hasEnded } from "@/shared/state/state";
import { countsText, StateBar } from "@/shared/state/StateBar";
import { DivergedMark, StateMark } from "@/shared/state/StateMark";
import { ExperimentActions } from "./actions/ExperimentActions";
import styles from "./ExperimentHeader.module.css";

interface Props {
  experiment: ExperimentDetail;
  stopping: boolean;
}

export function ExperimentHeader({ experiment, stopping }: Props) {
  const { id, name, description, state } = experiment;
  const { base } = experiment.spec;
  const refresh = useRefresh(id);
  const now = useNow(10_000);
  return (
    <PageHeader
      breadcrumbs={<Link href="/">Experiments</Link>}
      title={name}
      status={
        <>
          <StateMark state={state} stopping={stopping} />
          <DivergedMark diverged={null} count={experiment.diverged} />
          <span className="muted">submitted {formatAge(experiment.created_at, now)}</span>
          {experiment.archived_at && <span className="muted">archived</span>}
        </>
      }
      action={<ExperimentActions {...{ experiment, stopping, refresh }} />}
      description={description}
    >
      {base?.kind === "program" && <code className={styles.commandTemplate}>{commandTemplate(base)}</code>}
      <Labels
        target={{ kind: "experiment", id }}
        tags={experiment.tags}
        notes={experiment.notes}
        refresh={refresh}
      >
        <Owners experiment={experiment} />
      </Labels>
      <Progress experiment={experiment} />
    </PageHeader>
  );
}

/** The owner, the project, and the experiment that this one repeats or varies. */
function Owners({ experiment }: { experiment: ExperimentDetail }) {
  const { owner, project, origin } = experiment;
  return (
    <>
      {owner && (
        <span>
          <span className="muted">owner</span>{" "}
          <Link href={`/?owner=${encodeURIComponent(owner)}`}>{owner}</Link>
        </span>
      )}
      {project && (
        <span>
          <span className="muted">project</span>{" "}
          <Link href={`/?project=${encodeURIComponent(project)}`}>{project}</Link>
        </span>
      )}
      {origin !== null && (
        <span>
          <span className="muted">made from</span>{" "}
          <Link href={`/experiments/${origin}`}>experiment {origin}</Link>
        </span>
      )}
    </>
  );
}

/** The progress of all runs, and the best value of the objective; a program may report none. */
function Progress({ experiment }: { experiment: ExperimentDetail }) {
  const { state, counts, progress, steps, objective, best } = experiment;
  const { base } = experiment.spec;
  return (
    <div className={styles.progressSummary}>
      <div>
        <StateBar counts={counts} progress={steps ? progress : null} />
        <p className="small">
          {!hasEnded(state) && steps > 0 && <strong>{Math.floor(progress * 100)}% of all steps</strong>}
          <span className="muted"> {countsText(counts)}</span>
        </p>
      </div>
      {objective && (base?.kind === "engine" || best) && (
        <p>
          <span className={styles.bestValue}>{seriesKind(objective.metric).format(best && best.value)}</span>
          <span className="small muted">{objectiveText(objective)}</span>
        </p>
      )}
    </div>
  );
}

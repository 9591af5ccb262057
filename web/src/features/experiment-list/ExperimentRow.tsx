/** A row of the list: an experiment's name, progress and best accuracy. */
import { Link } from "wouter";
import type { ExperimentView } from "@/shared/api/types";
import { formatPercent } from "@/shared/format/number";
import { formatAge } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { useNow } from "@/shared/page/useNow";
import { hasEnded } from "@/shared/state/state";
import { StateBar, StateCounts } from "@/shared/state/StateBar";
import { StateMark } from "@/shared/state/StateMark";
import { CurveThumbnail } from "./CurveThumbnail";
import styles from "./ExperimentRow.module.css";

interface Props {
  experiment: ExperimentView;
}

export function ExperimentRow({ experiment }: Props) {
  const { id, name, description, state, counts, progress } = experiment;
  const now = useNow(10_000);
  const best = experiment.best_accuracy;
  return (
    <li className={styles.experiment}>
      <div className={styles.experimentName}>
        <StateMark state={state} iconOnly />
        <div>
          <Link href={`/experiments/${id}`}>{name}</Link>
          <p className="small muted">
            {description && <span className={styles.experimentDescription}>{description}</span>}
            <time dateTime={experiment.created_at}>{formatAge(experiment.created_at, now)}</time>
          </p>
        </div>
      </div>
      <CurveThumbnail experimentId={id} live={!hasEnded(state)} />
      <div className={styles.experimentProgress}>
        <StateBar counts={counts} progress={progress} />
        <p className={classNames("small", styles.experimentCounts)}>
          {!hasEnded(state) && <strong>{Math.floor(progress * 100)}%</strong>}
          <StateCounts counts={counts} />
        </p>
      </div>
      <p className={styles.experimentBest}>
        <span className={styles.accuracy}>{formatPercent(best)}</span>
        <span className="small muted"> {best === null ? "no accuracy yet" : "best held-out"}</span>
      </p>
    </li>
  );
}

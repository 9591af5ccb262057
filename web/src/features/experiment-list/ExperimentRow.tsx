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
import { type Filter, filterAddress } from "./filter";
import { CurveThumbnail } from "./CurveThumbnail";
import styles from "./ExperimentRow.module.css";

interface Props {
  experiment: ExperimentView;
  filter: Filter; // of the list: a label adds itself to it
}

export function ExperimentRow({ experiment, filter }: Props) {
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
          <Labels experiment={experiment} filter={filter} />
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

/** The project, the owner and the tags; a click limits the list to them. */
function Labels({ experiment, filter }: Props) {
  const { project, owner, tags } = experiment;
  const labels: [keyof Filter, string][] = [
    ...(project ? [["project", project] as ["project", string]] : []),
    ...(owner ? [["owner", owner] as ["owner", string]] : []),
    ...tags.map((tag): ["tag", string] => ["tag", tag]),
  ];
  if (!labels.length) return null;
  return (
    <ul className={classNames("small", styles.experimentLabels)} aria-label={`Labels of ${experiment.name}`}>
      {labels.map(([name, value]) => (
        <li key={`${name} ${value}`} title={name}>
          <Link href={filterAddress({ ...filter, [name]: value })}>{value}</Link>
        </li>
      ))}
    </ul>
  );
}

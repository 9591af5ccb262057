/** A row of the list: an experiment's name, progress and best value. */
import { Link } from "wouter";
import type { ExperimentView } from "@/shared/api/types";
import { formatAge } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { useNow } from "@/shared/api/clock";
import { HELDOUT_ACCURACY, seriesKind } from "@/shared/series/catalog";
import { keySeries } from "@/shared/series/keySeries";
import { hasEnded } from "@/shared/state/state";
import { DivergedMark, StateMark } from "@/shared/state/StateMark";
import { StateBar, StateCounts } from "@/shared/state/StateBar";
import { type Filter, filterAddress } from "./filter";
import { CurveThumbnail } from "./CurveThumbnail";
import styles from "./ExperimentRow.module.css";

interface Props {
  experiment: ExperimentView;
  filter: Filter; // of the list: a label adds itself to it
}

export function ExperimentRow({ experiment, filter }: Props) {
  const { id, name, description, state, counts, progress, steps } = experiment;
  const now = useNow(10_000);
  const series = keySeries(experiment.series, 1)[0] ?? HELDOUT_ACCURACY;
  const shown = (experiment.best && experiment.objective?.metric) ?? series;
  return (
    <li className={styles.experiment}>
      <div className={styles.experimentName}>
        <StateMark state={state} iconOnly />
        <div>
          <p className={styles.experimentTitle}>
            <Link href={`/experiments/${id}`}>{name}</Link>
            <time className="small muted" dateTime={experiment.created_at}>
              {formatAge(experiment.created_at, now)}
            </time>
          </p>
          <div className={classNames("small muted", styles.experimentFacts)}>
            {description && (
              <p className={styles.experimentDescription} title={description}>
                {description}
              </p>
            )}
            <Labels experiment={experiment} filter={filter} />
          </div>
        </div>
      </div>
      <CurveThumbnail experimentId={id} name={shown} live={!hasEnded(state)} />
      <div className={styles.experimentProgress}>
        <StateBar counts={counts} progress={steps ? progress : null} />
        <p className={classNames("small", styles.experimentCounts)}>
          {!hasEnded(state) && steps > 0 && <strong>{Math.floor(progress * 100)}%</strong>}
          <StateCounts counts={counts} />
          <DivergedMark diverged={null} count={experiment.diverged} />
        </p>
      </div>
      <Best experiment={experiment} series={shown} />
    </li>
  );
}

/** The best value of the objective, else the name of the curve. */
function Best({ experiment, series }: { experiment: ExperimentView; series: string }) {
  const { best } = experiment;
  const isAccuracy = series === HELDOUT_ACCURACY;
  const { format, title } = seriesKind(series);
  return (
    <p className={styles.experimentBest}>
      {(best !== null || isAccuracy) && <span className={styles.accuracy}>{format(best && best.value)}</span>}
      <span className={classNames("small muted", styles.metricName)} title={isAccuracy ? undefined : title}>
        {" "}
        {isAccuracy ? accuracyText(experiment) : objectiveText(experiment, title)}
      </span>
    </p>
  );
}

function accuracyText({ best, objective, state }: ExperimentView): string {
  if (best) return `${objective?.value ?? "best"} held-out`;
  return hasEnded(state) ? "no metric reported" : "no metric yet";
}

function objectiveText({ best, objective }: ExperimentView, title: string): string {
  return best && objective ? `${objective.value} ${title}` : title;
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
    <ul className={styles.experimentLabels} aria-label={`Labels of ${experiment.name}`}>
      {labels.map(([name, value]) => (
        <li key={`${name} ${value}`} title={name}>
          <Link href={filterAddress({ ...filter, [name]: value })}>{value}</Link>
        </li>
      ))}
    </ul>
  );
}

/** One experiment in the list: what it is, how far, how good. */
import { Link } from "wouter";
import type { ExperimentView } from "@/shared/api/types";
import { percent } from "@/shared/format/number";
import { age } from "@/shared/format/time";
import { useNow } from "@/shared/page/useNow";
import { StateBar, StateCounts } from "@/shared/state/StateBar";
import { StateMark } from "@/shared/state/StateMark";
import { hasEnded } from "@/shared/state/state";
import { Thumbnail } from "./CurveThumbnail";

interface Props {
  experiment: ExperimentView;
}

export function ExperimentRow({ experiment }: Props) {
  const { id, name, description, state, counts, progress } = experiment;
  const now = useNow(10_000);
  const best = experiment.best_accuracy;
  return (
    <li className="experiment">
      <div className="experiment-name">
        <StateMark state={state} silent />
        <div>
          <Link href={`/experiments/${id}`}>{name}</Link>
          <p className="small muted">
            {description && <span className="experiment-about">{description}</span>}
            <time dateTime={experiment.created_at}>{age(experiment.created_at, now)}</time>
          </p>
        </div>
      </div>
      <Thumbnail experimentId={id} live={!hasEnded(state)} />
      <div className="experiment-progress">
        <StateBar counts={counts} progress={progress} />
        <p className="small experiment-counts">
          {!hasEnded(state) && <strong>{Math.floor(progress * 100)}%</strong>}
          <StateCounts counts={counts} />
        </p>
      </div>
      <p className="experiment-best">
        <span className="figure">{percent(best)}</span>
        <span className="small muted"> {best === null ? "nothing held out yet" : "best held-out"}</span>
      </p>
    </li>
  );
}

/** What the experiment is, how far it is, and the way to stop it. */
import { Link } from "wouter";
import type { ExperimentDetail } from "@/shared/api/types";
import { StopButton } from "@/shared/dialog/StopButton";
import { percent, plural } from "@/shared/format/number";
import { age } from "@/shared/format/time";
import { useNow } from "@/shared/page/useNow";
import { countsText, StateBar } from "@/shared/state/StateBar";
import { StateMark } from "@/shared/state/StateMark";
import { hasEnded } from "@/shared/state/state";
import { useStopExperiment } from "./api/useStopExperiment";

interface Props {
  experiment: ExperimentDetail;
  stopping: boolean;
}

export function ExperimentHead({ experiment, stopping }: Props) {
  const { id, name, description, state, counts, progress } = experiment;
  const stop = useStopExperiment(id);
  const now = useNow(10_000);
  const left = Object.values(liveOf(counts)).reduce((sum, n) => sum + n, 0);
  return (
    <header className="page-head">
      <nav className="crumbs" aria-label="Where this is">
        <Link href="/">Experiments</Link>
      </nav>
      <div className="page-title">
        <h1>{name}</h1>
        <div className="page-state">
          <StateMark state={state} stopping={stopping} />
          <span className="muted">submitted {age(experiment.created_at, now)}</span>
        </div>
        {left > 0 && (
          <StopButton what={plural(left, "run")} stop={stop} stopping={stopping}>
            {countsText(liveOf(counts))}. What has been measured stays; a stopped run does not go on later.
          </StopButton>
        )}
      </div>
      {description && <p className="page-about muted">{description}</p>}
      <div className="experiment-summary">
        <div>
          <StateBar counts={counts} progress={progress} />
          <p className="small">
            {!hasEnded(state) && <strong>{Math.floor(progress * 100)}% of all steps</strong>}
            <span className="muted"> {countsText(counts)}</span>
          </p>
        </div>
        <p>
          <span className="big-figure">{percent(experiment.best_accuracy)}</span>
          <span className="small muted">best held-out accuracy</span>
        </p>
      </div>
    </header>
  );
}

/** The counts of what has not ended. */
function liveOf(counts: ExperimentDetail["counts"]): ExperimentDetail["counts"] {
  return Object.fromEntries(
    Object.entries(counts).filter(([state]) => !hasEnded(state as ExperimentDetail["state"])),
  );
}

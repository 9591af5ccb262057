/** The page of an experiment: its state, the overlaid curves of its runs, and the table of runs. */
import { useState } from "react";
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { CheckpointAdvice } from "@/shared/checkpoints/CheckpointAdvice";
import { pluralize } from "@/shared/format/number";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { Announcement } from "@/shared/page/Announcement";
import { useTitle } from "@/shared/page/useTitle";
import { HELDOUT_ACCURACY, LOSS } from "@/shared/series/catalog";
import { keySeries } from "@/shared/series/keySeries";
import { hasEnded } from "@/shared/state/state";
import { countsText } from "@/shared/state/StateBar";
import { useTheme } from "@/shared/theme/theme";
import { MainPanel } from "./answer/MainPanel";
import { useExperiment } from "./api/useExperiment";
import { useRuns } from "./api/useRuns";
import { axesOf } from "./axes";
import { ExperimentHeader } from "./ExperimentHeader";
import styles from "./ExperimentPage.module.css";
import { lineStylesOf } from "./lineStyles";
import { RunTable } from "./runs/RunTable";
import { SpreadTable } from "./runs/SpreadTable";
import { useSelection } from "./useSelection";

const MOST_METRICS = 3;

export function ExperimentPage({ id }: { id: number }) {
  const { data, error } = useExperiment(id);
  if (!data) return <QueryStatus error={error} />;
  return <Experiment experiment={data} />;
}

function Experiment({ experiment }: { experiment: ExperimentDetail }) {
  const { id, name, state, progress, steps } = experiment;
  const live = !hasEnded(state);
  useTitle(`${live && steps ? `${Math.floor(progress * 100)}%` : state} · ${name}`);
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useRuns(id, live);
  const [colorBy, setColorBy] = useState<string | null>(null);
  const theme = useTheme();
  const selection = useSelection();
  const runs = data?.pages.flatMap((page) => page.items) ?? [];
  const axes = axesOf(experiment);
  const kind = experiment.spec.base.kind;
  const metrics = metricsOf(kind, runs);
  const lineStyles = lineStylesOf(axes, colorBy, theme);
  return (
    <>
      <Announcement text={`${name}: ${countsText(experiment.counts)}`} />
      <ExperimentHeader experiment={experiment} stopping={areAllStopping(runs)} />
      <MainPanel {...{ experiment, runs, axes, lineStyles, selection }} onColorBy={setColorBy} />
      {kind !== "program" && <CheckpointAdvice experimentId={id} />}
      {data ? (
        <>
          <SpreadTable {...{ runs, metrics, axes }} />
          <RunTable {...{ experiment, metrics, axes, lineStyles, selection }} />
        </>
      ) : (
        <QueryStatus error={error} />
      )}
      {hasNextPage && (
        <p className={styles.moreRuns}>
          <button className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            More runs
          </button>{" "}
          <span className="muted">
            the curves and means are those of {runs.length} of {pluralize(experiment.runs, "run")}
          </span>
        </p>
      )}
    </>
  );
}

/** Return the series with a column in the table of runs: those of the engine, or the first ones of programs. */
function metricsOf(kind: ExperimentDetail["spec"]["base"]["kind"], runs: RunView[]): string[] {
  if (kind !== "program") return [LOSS, HELDOUT_ACCURACY];
  return keySeries(
    runs.flatMap((run) => Object.keys(run.latest)),
    MOST_METRICS,
  );
}

function areAllStopping(runs: { state: ExperimentDetail["state"]; stopping: boolean }[]): boolean {
  const live = runs.filter((run) => !hasEnded(run.state));
  return live.length > 0 && live.every((run) => run.stopping);
}

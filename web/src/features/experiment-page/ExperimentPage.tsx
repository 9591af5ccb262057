/** One experiment: where its runs stand, their curves laid over each other, and the runs one by one. */
import { useState } from "react";
import type { ExperimentDetail } from "@/shared/api/types";
import { plural } from "@/shared/format/number";
import { CheckpointAdvice } from "@/shared/checkpoints/CheckpointAdvice";
import { Pending } from "@/shared/messages/QueryStatus";
import { Announce } from "@/shared/page/Announcement";
import { useTitle } from "@/shared/page/useTitle";
import { countsText } from "@/shared/state/StateBar";
import { hasEnded } from "@/shared/state/state";
import { useTheme } from "@/shared/theme/theme";
import { useExperiment } from "./api/useExperiment";
import { useRuns } from "./api/useRuns";
import { axesOf, inksFor } from "./lineStyles";
import { CurvesPanel } from "./curves/CurvesPanel";
import { ExperimentHead } from "./ExperimentHeader";
import { RunTable } from "./runs/RunTable";
import { useSelection } from "./useSelection";
import "@/features/experiment/experiment.css";

export function ExperimentPage({ id }: { id: number }) {
  const { data, error } = useExperiment(id);
  if (!data) return <Pending error={error} />;
  return <Experiment experiment={data} />;
}

function Experiment({ experiment }: { experiment: ExperimentDetail }) {
  const { id, name, state, progress } = experiment;
  const live = !hasEnded(state);
  useTitle(live ? `${Math.floor(progress * 100)}% · ${name}` : `${state} · ${name}`);
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } = useRuns(id, live);
  const [colorBy, setColorBy] = useState<string | null>(null);
  const theme = useTheme();
  const selection = useSelection();
  const runs = data?.pages.flatMap((page) => page.items) ?? [];
  const axes = axesOf(experiment);
  const inks = inksFor(axes, colorBy, theme);
  return (
    <>
      <Announce text={`${name}: ${countsText(experiment.counts)}`} />
      <ExperimentHead experiment={experiment} stopping={allStopping(runs)} />
      <CurvesPanel {...{ experiment, runs, axes, inks, selection }} onColorBy={setColorBy} />
      <CheckpointAdvice experimentId={id} />
      <RunTable {...{ runs, axes, inks, selection }} />
      {hasNextPage && (
        <p className="more-runs">
          <button className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            More runs
          </button>{" "}
          <span className="muted">
            {runs.length} of {plural(experiment.runs, "run")}; the chart shows the first 200
          </span>
        </p>
      )}
    </>
  );
}

function allStopping(runs: { state: ExperimentDetail["state"]; stopping: boolean }[]): boolean {
  const live = runs.filter((run) => !hasEnded(run.state));
  return live.length > 0 && live.every((run) => run.stopping);
}

/** The page of an experiment: its state, the overlaid curves of its runs, and the table of runs. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { useLive } from "@/shared/live/useLive";
import { CheckpointAdvice } from "@/shared/messages/CheckpointAdvice";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { changeAddress, useAddress } from "@/shared/page/address";
import { Announcement } from "@/shared/page/Announcement";
import { useTitle } from "@/shared/page/PageHeader";
import { HELDOUT_ACCURACY, LOSS } from "@/shared/series/catalog";
import { keySeries, withFirst } from "@/shared/series/keySeries";
import { hasEnded } from "@/shared/state/state";
import { countsText } from "@/shared/state/StateBar";
import { useTheme } from "@/shared/theme/theme";
import { axesOf, hasSearch } from "./axes";
import { ExperimentHeader } from "./ExperimentHeader";
import styles from "./ExperimentPage.module.css";
import { lineStylesOf } from "./lineStyles";
import { MainPanel } from "./MainPanel";
import { RunTable } from "./runs/RunTable";
import { SpreadTable } from "./runs/SpreadTable";
import { SearchPanel } from "./search/SearchPanel";
import { kindOf, useStep } from "./shownExperiment";
import { useSelection } from "./useSelection";
import { WorkflowPanel } from "./workflow/WorkflowPanel";

const MOST_METRICS = 3;

export function ExperimentPage({ id }: { id: number }) {
  useLive({ experiment: id });
  const { data, error } = useExperiment(id);
  if (!data) return <QueryStatus error={error} />;
  return <Experiment experiment={data} />;
}

function Experiment({ experiment }: { experiment: ExperimentDetail }) {
  const { id, name, state, progress, steps } = experiment;
  const live = !hasEnded(state);
  useTitle(`${live && steps ? `${Math.floor(progress * 100)}%` : state} · ${name}`);
  const [shown, chooseStep] = useStep(experiment);
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useRuns(id, shown.step, live);
  const colorBy = useAddress().get("color");
  const theme = useTheme();
  const selection = useSelection();
  const runs = data?.pages.flatMap((page) => page.items) ?? [];
  const axes = axesOf(shown);
  const kind = kindOf(shown);
  const metrics = metricsOf(shown, runs);
  const lineStyles = lineStylesOf(axes, colorBy, theme);
  return (
    <>
      <Announcement text={`${name}: ${countsText(experiment.counts)}`} />
      <ExperimentHeader experiment={experiment} stopping={areAllStopping(runs)} />
      {hasSearch(experiment) && <SearchPanel experimentId={id} />}
      {kindOf(experiment) === "steps" && (
        <WorkflowPanel {...{ experiment }} chosen={shown.step} onChoose={chooseStep} />
      )}
      <MainPanel {...{ experiment: shown, runs, axes, lineStyles, selection }} onColorBy={colorLinesBy} />
      {kind === "engine" && <CheckpointAdvice experimentId={id} />}
      {data ? (
        <>
          <SpreadTable {...{ runs, metrics, axes }} objective={shown.objective} />
          <RunTable {...{ experiment: shown, metrics, axes, lineStyles, selection }} />
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

function colorLinesBy(path: string): void {
  changeAddress({ color: path }, true);
}

/** Return the series with a column in the table of runs: those of the engine, or the first ones that other runs have. */
function metricsOf(experiment: ExperimentDetail, runs: RunView[]): string[] {
  if (kindOf(experiment) === "engine") return [LOSS, HELDOUT_ACCURACY];
  const reported = new Set(runs.flatMap((run) => Object.keys(run.latest)));
  return withFirst(experiment.objective?.metric, keySeries(reported, reported.size)).slice(0, MOST_METRICS);
}

function areAllStopping(runs: { state: ExperimentDetail["state"]; stopping: boolean }[]): boolean {
  const live = runs.filter((run) => !hasEnded(run.state));
  return live.length > 0 && live.every((run) => run.stopping);
}

/** GET /experiments/{id}: an experiment with its spec. */
function useExperiment(id: number) {
  const pollInterval = usePollInterval();
  return useQuery({
    queryKey: keys.experiment(id),
    queryFn: ({ signal }) => {
      const params = { path: { experiment_id: id } };
      return body(client.GET("/api/v1/experiments/{experiment_id}", { params, signal }));
    },
    refetchInterval: ({ state }) => pollInterval(state.data ? !hasEnded(state.data.state) : false),
  });
}

/**
 * GET /experiments/{id}/runs: the runs of an experiment in the order of its grid, in pages; of a workflow perhaps
 * those of one step.
 */
function useRuns(experimentId: number, step: string | null, live: boolean) {
  const pollInterval = usePollInterval();
  return useInfiniteQuery({
    queryKey: keys.experimentRuns(experimentId, step),
    queryFn: ({ pageParam, signal }) => {
      const params = {
        path: { experiment_id: experimentId },
        query: { after: pageParam, step: step ?? undefined },
      };
      return body(client.GET("/api/v1/experiments/{experiment_id}/runs", { params, signal }));
    },
    initialPageParam: -1,
    getNextPageParam: (page) => page.next,
    refetchInterval: pollInterval(live),
  });
}

/** The page of a run: state, metrics, history, curves, time split, spec and log. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { RunDetail } from "@/shared/api/types";
import { useZoom } from "@/shared/curves/view";
import { formatCount } from "@/shared/format/number";
import { useLive } from "@/shared/live/useLive";
import { CheckpointAdvice } from "@/shared/messages/CheckpointAdvice";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { Announcement } from "@/shared/page/Announcement";
import { classNames } from "@/shared/page/classNames";
import { useTitle } from "@/shared/page/PageHeader";
import { AddToReport } from "@/shared/reports/AddToReport";
import { hasEnded, stepShare } from "@/shared/state/state";
import { ArtifactPanel } from "./artifacts/ArtifactPanel";
import { CheckpointPanel } from "./artifacts/CheckpointPanel";
import { FilePanel } from "./artifacts/FilePanel";
import { ReuseNote } from "./artifacts/ReuseNote";
import { CurveTabs } from "./charts/CurveTabs";
import { blocksOfRun } from "./charts/reportBlocks";
import { RunCurves } from "./charts/RunCurves";
import { StepTimePanel } from "./charts/StepTimePanel";
import { ChunkGrid } from "./ChunkGrid";
import { ComparisonPanel } from "./ComparisonPanel";
import { DedupPanel } from "./DedupPanel";
import { ProgramPanel } from "./ProgramPanel";
import { ReproductionPanel } from "./ReproductionPanel";
import styles from "./RunPage.module.css";
import { type Points, useAllSeries, usePoints } from "./series";
import { StacksPanel } from "./StacksPanel";
import { RunHeader } from "./summary/RunHeader";
import { EndedAttempts, LostRankList, RemovalList, RestartList, UnreadNote } from "./summary/RunHistory";
import { RunMetrics } from "./summary/RunMetrics";
import { StateTimeline } from "./summary/StateTimeline";
import { StatusPanel } from "./summary/StatusPanel";
import { LogPanel } from "./texts/LogPanel";
import { SpecPanel } from "./texts/SpecPanel";
import { usePlace } from "./usePlace";

export function RunPage({ id }: { id: number }) {
  useLive({ run: id });
  const { data, error } = useRun(id);
  if (!data) return <QueryStatus error={error} />;
  return <Run key={data.id} run={data} />;
}

function Run({ run }: { run: RunDetail }) {
  const points = usePoints(run);
  const { series } = points;
  const live = !hasEnded(run.state);
  useTitle(`${progressText(run)} · Run ${run.id}`);
  return (
    <>
      <Announcement text={`Run ${run.id} is ${run.stopping ? "stopping" : run.state}`} />
      <RunHeader run={run} />
      <StatusPanel run={run} />
      <ReuseNote run={run} />
      <RunMetrics run={run} series={series} />
      <StateTimeline run={run} />
      <div className={classNames("small", styles.history)}>
        <UnreadNote run={run} />
        <RemovalList run={run} />
        <RestartList run={run} />
        <LostRankList run={run} />
        <EndedAttempts run={run} />
      </div>
      <Charts run={run} points={points} />
      <KindPanels run={run} />
      <CheckpointPanel run={run} />
      <ArtifactPanel run={run} />
      <div className={styles.texts}>
        <SpecPanel run={run} />
        <LogPanel runId={run.id} live={live} world={run.world} />
      </div>
      <ReproductionPanel run={run} />
      <ComparisonPanel runId={run.id} />
    </>
  );
}

/** What only a program or only a training of the engine has. */
function KindPanels({ run }: { run: RunDetail }) {
  const { spec } = run;
  if (spec.kind === "engine") return <CheckpointAdvice experimentId={run.experiment_id} world={run.world} />;
  if (spec.kind !== "program") return null;
  return (
    <>
      {spec.volume && <ChunkGrid run={run} />}
      {spec.dedup && <DedupPanel run={run} dedup={spec.dedup} />}
      <ProgramPanel run={run} spec={spec} />
      <StacksPanel run={run} />
      <FilePanel run={run} />
    </>
  );
}

function Charts({ run, points }: { run: RunDetail; points: Points }) {
  const range = useZoom();
  const { series } = points;
  const place = usePlace(run, series);
  const all = useAllSeries(run, points, place.stepsOf(range));
  return (
    <CurveTabs run={run} action={<AddToReport blocks={() => blocksOfRun(run, all)} />} axis={place.axis}>
      <RunCurves {...{ run, points, all, range, place }} />
      <StepTimePanel {...{ run, series, range, place }} />
    </CurveTabs>
  );
}

/** Return "30%" or "step 120" of a running run, and the state of any other. */
function progressText(run: RunDetail): string {
  if (run.state !== "running") return run.state;
  const share = stepShare(run);
  return share === null ? `step ${formatCount(run.step)}` : `${Math.floor(share * 100)}%`;
}

/** GET /runs/{id}: a run with its spec, its history and the names of its series. */
function useRun(id: number) {
  const pollInterval = usePollInterval();
  return useQuery({
    queryKey: keys.run(id),
    queryFn: ({ signal }) => {
      const params = { path: { run_id: id } };
      return body(client.GET("/api/v1/runs/{run_id}", { params, signal }));
    },
    refetchInterval: ({ state }) => pollInterval(state.data ? !hasEnded(state.data.state) : false),
  });
}

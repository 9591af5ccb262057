/** One run: where it stands, why it fell, its curves, where its time goes, its spec and its log. */
import type { RunDetail } from "@/shared/api/types";
import { CheckpointAdvice } from "@/shared/checkpoints/CheckpointAdvice";
import { Pending } from "@/shared/messages/QueryStatus";
import { Announce } from "@/shared/page/Announcement";
import { useTitle } from "@/shared/page/useTitle";
import { hasEnded } from "@/shared/state/state";
import { usePoints } from "./api/usePoints";
import { useRun } from "./api/useRun";
import { Attempts } from "./history/EndedAttempts";
import { Curves } from "./charts/RunCurves";
import { Figures } from "./summary/RunMetrics";
import { LogPanel } from "./texts/LogPanel";
import { LostRanks } from "./history/LostRankList";
import { RunHead } from "./summary/RunHeader";
import { SpecPanel } from "./texts/SpecPanel";
import { TimePanel } from "./charts/StepTimePanel";
import { Restarts } from "./history/RestartList";
import { Timeline } from "./history/StateTimeline";
import { Trouble } from "./summary/StatusPanel";
import "@/features/run/failure.css";
import "@/features/run/run.css";

export function RunPage({ id }: { id: number }) {
  const { data, error } = useRun(id);
  if (!data) return <Pending error={error} />;
  return <Run key={data.id} run={data} />;
}

function Run({ run }: { run: RunDetail }) {
  const series = usePoints(run);
  const live = !hasEnded(run.state);
  const share = `${Math.floor((run.step / run.steps) * 100)}%`;
  useTitle(`${run.state === "running" ? share : run.state} · Run ${run.id}`);
  return (
    <>
      <Announce text={`Run ${run.id} is ${run.stopping ? "stopping" : run.state}`} />
      <RunHead run={run} />
      <Trouble run={run} />
      <Figures run={run} series={series} />
      <Timeline run={run} />
      <div className="run-story small">
        <Restarts run={run} />
        <LostRanks run={run} />
        <Attempts run={run} />
      </div>
      <Curves run={run} series={series} />
      <TimePanel run={run} series={series} />
      <CheckpointAdvice experimentId={run.experiment_id} world={worldOf(run)} />
      <div className="run-texts">
        <SpecPanel run={run} />
        <LogPanel runId={run.id} live={live} />
      </div>
    </>
  );
}

/** Its ranks. */
function worldOf({ spec: { resources } }: RunDetail): number {
  return ("nodes" in resources ? resources.nodes : 1) * resources.ranks_per_node;
}

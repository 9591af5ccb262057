/** The graph of a workflow: its steps in layers, the edges between them, the critical path in the color of links. */
import { useMemo } from "react";
import { useNow } from "@/shared/api/clock";
import type { State, StepGraph as Graph, StepState, StepView } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { formatDuration, formatRoughly, secondsBetween } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { useWidth } from "@/shared/page/useWidth";
import { countsText, StateBar } from "@/shared/state/StateBar";
import { StateMark } from "@/shared/state/StateMark";
import { layoutSteps, NODE, type PlacedEdge, type PlacedStep } from "./layout";
import styles from "./StepGraph.module.css";

interface Props {
  graph: Graph;
  chosen: string | null;
  onChoose: (name: string) => void;
}

export function StepGraph({ graph, chosen, onChoose }: Props) {
  const [scroller, width] = useWidth();
  const now = useNow(1_000);
  const shape = JSON.stringify([graph.steps.map(({ name }) => name), graph.edges]);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the places depend on names and edges alone
  const layout = useMemo(() => layoutSteps(graph, width), [shape, width]);
  const byName = new Map(graph.steps.map((step) => [step.name, step]));
  return (
    <ScrollRegion ref={scroller} className={styles.graphScroller} label="Graph of the steps">
      <div className={styles.graph} style={{ width: layout.width, height: layout.height }}>
        <svg width={layout.width} height={layout.height} aria-hidden="true">
          <ArrowHead />
          {layout.edges.map((edge) => (
            <Edge key={`${edge.source} ${edge.target}`} edge={edge} steps={byName} />
          ))}
        </svg>
        {layout.steps.map((place) => {
          const step = byName.get(place.name);
          return (
            step && (
              <StepNode
                key={place.name}
                {...{ step, place, now, onChoose }}
                isChosen={place.name === chosen}
              />
            )
          );
        })}
      </div>
    </ScrollRegion>
  );
}

function Edge({ edge, steps }: { edge: PlacedEdge; steps: Map<string, StepView> }) {
  const [source, target] = [steps.get(edge.source), steps.get(edge.target)];
  const isCritical = source?.is_critical && target?.is_critical;
  const isOpen = source && (source.state === "waiting" || source.state === "running");
  return (
    <path
      className={classNames(styles.edge, isCritical && styles.criticalEdge, isOpen && styles.openEdge)}
      d={edge.path}
      markerEnd="url(#step-arrow)"
      data-testid="edge"
    />
  );
}

function ArrowHead() {
  return (
    <defs>
      <marker
        id="step-arrow"
        viewBox="0 0 8 8"
        refX="7"
        refY="4"
        markerWidth="8"
        markerHeight="8"
        markerUnits="userSpaceOnUse"
        orient="auto"
      >
        <path d="M0 0.6 8 4 0 7.4z" fill="context-stroke" />
      </marker>
    </defs>
  );
}

interface StepNodeProps {
  step: StepView;
  place: PlacedStep;
  now: number;
  isChosen: boolean;
  onChoose: (name: string) => void;
}

/** A step in the graph: a button with its state, its runs and its time, which chooses the runs of the page. */
function StepNode({ step, place, now, isChosen, onChoose }: StepNodeProps) {
  const mark = MARK_OF[step.state];
  return (
    <button
      className={classNames(styles.step, step.is_critical && styles.critical, isChosen && styles.chosenStep)}
      style={{ left: place.x, top: place.y, width: NODE.width, height: NODE.height }}
      data-state={mark}
      aria-pressed={isChosen}
      title={step.reason ?? undefined}
      onClick={() => {
        onChoose(step.name);
      }}
    >
      <span className={styles.stepHead}>
        <strong>{step.name}</strong>
        <StateMark state={mark} label={step.state} />
      </span>
      <span className={styles.stepRuns}>
        {step.size ? (
          <StateBar
            counts={step.expanded_at ? step.counts : { queued: step.size }}
            progress={step.progress}
          />
        ) : null}
      </span>
      <span className={styles.stepFoot}>
        <span>{runsText(step)}</span>
        <span>{timeText(step, now)}</span>
      </span>
      <span className="visually-hidden">{hiddenText(step)}</span>
    </button>
  );
}

/** The state of a run whose shape and color show the state of a step. */
const MARK_OF: Record<StepState, State> = {
  waiting: "queued",
  running: "running",
  done: "done",
  failed: "failed",
  skipped: "cancelled",
  cancelled: "cancelled",
};

/** Return the runs of a step: "3 of 8 runs done", "8 runs", "a run for each value of a list". */
function runsText({ size, counts, expanded_at }: StepView): string {
  if (size === null) return "as many runs as the list has values";
  if (!expanded_at) return pluralize(size, "run");
  if (!size) return "no runs";
  const { done = 0 } = counts;
  return done === size ? `${pluralize(size, "run")} done` : `${done} of ${pluralize(size, "run")} done`;
}

/** Return how long a step took, how long it still takes, or how long it took the last time. */
function timeText(step: StepView, now: number): string {
  const { state, duration_s: duration, predicted_end: end } = step;
  if (state === "running") {
    if (end) return `about ${formatRoughly(Math.max(1, -secondsBetween(end, now)))} more`;
    return step.expanded_at
      ? `for ${formatDuration(Math.max(0, secondsBetween(step.expanded_at, now)))}`
      : "";
  }
  if (duration === null) return "";
  return state === "waiting" ? `${formatRoughly(duration)} the last time` : formatDuration(duration);
}

/** Return what colors and lines show of a step: the states of its runs, and whether it decides when the last one ends. */
function hiddenText(step: StepView): string {
  const runs = step.expanded_at && step.size ? countsText(step.counts) : "";
  return [runs, step.is_critical && "on the critical path"].filter(Boolean).join(", ");
}

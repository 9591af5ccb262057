/** The steps of a workflow: their graph, when the last one ends, and why the chosen one waits or ended so. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { body, client } from "@/shared/api/client";
import { useNow } from "@/shared/api/clock";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { ExperimentDetail, StepGraph as Graph, StepView } from "@/shared/api/types";
import { formatRoughly, secondsBetween } from "@/shared/format/time";
import { RerunDialog } from "@/shared/lifecycle/RerunDialog";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { classNames } from "@/shared/page/classNames";
import { hasEnded } from "@/shared/state/state";
import { StepGraph } from "./StepGraph";
import styles from "./StepGraph.module.css";

interface Props {
  experiment: ExperimentDetail;
  chosen: string | null;
  onChoose: (name: string | null) => void;
}

export function WorkflowPanel({ experiment, chosen, onChoose }: Props) {
  const { data, error } = useSteps(experiment.id, !hasEnded(experiment.state));
  if (!data) return <QueryStatus error={error} />;
  const step = data.steps.find(({ name }) => name === chosen);
  return (
    <section className={classNames("panel", styles.workflow)} aria-label="Steps">
      <StepGraph
        graph={data}
        chosen={chosen}
        onChoose={(name) => {
          onChoose(name === chosen ? null : name);
        }}
      />
      <Facts graph={data} />
      {step ? <StepFacts graph={data} {...{ step, experiment }} /> : <Hint />}
    </section>
  );
}

function Hint() {
  return <p className="small muted">A click on a step shows its runs alone, below.</p>;
}

function Facts({ graph }: { graph: Graph }) {
  const now = useNow(1_000);
  const critical = graph.steps.filter((step) => step.is_critical).map(({ name }) => name);
  const waiting = graph.steps.filter(({ state }) => state === "waiting" || state === "running");
  return (
    <p className={classNames("small", styles.workflowFacts)}>
      {graph.predicted_end && (
        <span>
          ends in about{" "}
          <strong>{formatRoughly(Math.max(1, -secondsBetween(graph.predicted_end, now)))}</strong>
        </span>
      )}
      {!graph.predicted_end && waiting.length > 0 && (
        <span className="muted">no predicted end: a step has not run before, or has not come far enough</span>
      )}
      {critical.length > 1 && (
        <span>
          <span className="muted">critical path</span> {critical.join(" → ")}
        </span>
      )}
    </p>
  );
}

/** What the chosen step takes from others, its condition, and why it is in its state. */
function StepFacts({
  graph,
  step,
  experiment,
}: { graph: Graph; step: StepView } & Pick<Props, "experiment">) {
  const taken = graph.edges
    .filter(({ target }) => target === step.name)
    .flatMap(({ references }) => references);
  return (
    <div className={classNames("small", styles.workflowFacts)} data-testid="step-facts">
      <strong>{step.name}</strong>
      {step.reason && <span>{step.reason}</span>}
      {step.needs.length > 0 && (
        <span>
          <span className="muted">needs</span> {step.needs.join(", ")}
        </span>
      )}
      {step.condition && (
        <span>
          <span className="muted">when</span> <code>{step.condition}</code>
        </span>
      )}
      {taken.map((text) => (
        <code key={text}>{text}</code>
      ))}
      <RerunFrom {...{ step, experiment }} />
    </div>
  );
}

/** The button that submits the workflow again, from a step on. */
function RerunFrom({ step, experiment }: { step: StepView } & Pick<Props, "experiment">) {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <button
        className="button small"
        onClick={() => {
          setAsks(true);
        }}
      >
        Rerun from this step
      </button>
      {asks && (
        <RerunDialog
          origin={experiment.id}
          name={experiment.name}
          copied={{ kind: "experiment", id: experiment.id }}
          fromStep={step.name}
          onCancel={() => {
            setAsks(false);
          }}
        />
      )}
    </>
  );
}

/** GET /experiments/{id}/steps: the graph of a workflow. */
function useSteps(experimentId: number, live: boolean) {
  const pollInterval = usePollInterval();
  return useQuery({
    queryKey: keys.experimentSteps(experimentId),
    queryFn: ({ signal }) => {
      const params = { path: { experiment_id: experimentId } };
      return body(client.GET("/api/v1/experiments/{experiment_id}/steps", { params, signal }));
    },
    placeholderData: (before) => before,
    refetchInterval: pollInterval(live),
  });
}

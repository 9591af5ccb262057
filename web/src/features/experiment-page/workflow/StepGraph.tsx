/** The graph of a workflow: its steps in layers, the edges between them, the critical path in the color of links. */
import { useMemo } from "react";
import type { StepGraph as Graph, StepView } from "@/shared/api/types";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { useNow } from "@/shared/api/clock";
import { useWidth } from "@/shared/page/useWidth";
import { layoutSteps, type PlacedEdge } from "./layout";
import styles from "./StepGraph.module.css";
import { StepNode } from "./StepNode";

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

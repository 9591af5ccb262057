/** The places of a workflow's steps and the paths between them: layers by dagre, from left to right or downwards. */
import { Graph, layout } from "@dagrejs/dagre";
import type { StepGraph } from "@/shared/api/types";

export const NODE = { width: 196, height: 84 };
const WIDE_PX = 760; // from this width on the graph goes from left to right
const MARGIN = 8;

export interface PlacedStep {
  name: string;
  x: number; // of the left upper corner
  y: number;
}

export interface PlacedEdge {
  source: string;
  target: string;
  path: string;
}

export interface Layout {
  width: number;
  height: number;
  steps: PlacedStep[];
  edges: PlacedEdge[];
}

interface Point {
  x: number;
  y: number;
}

/** Return the layout of a graph in a panel of this width. */
export function layoutSteps({ steps, edges }: StepGraph, available: number): Layout {
  const across = available >= WIDE_PX;
  const graph = new Graph();
  graph.setGraph({
    rankdir: across ? "LR" : "TB",
    nodesep: across ? 18 : 14,
    ranksep: across ? 56 : 34,
    marginx: MARGIN,
    marginy: MARGIN,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { name } of steps) graph.setNode(name, { ...NODE });
  for (const { source, target } of edges) graph.setEdge(source, target);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    ...{ width, height },
    steps: steps.map(({ name }) => {
      const { x, y } = graph.node(name) as Point;
      return { name, x: x - NODE.width / 2, y: y - NODE.height / 2 };
    }),
    edges: edges.map(({ source, target }) => {
      const { points } = graph.edge(source, target) as { points: Point[] };
      return { source, target, path: smoothPath(points) };
    }),
  };
}

/** Return a path through points whose corners are round: curves from the middle of each part to the next one's. */
export function smoothPath(points: Point[]): string {
  const [first, ...others] = points;
  if (!first) return "";
  const parts = others.slice(0, -1).map((point, index) => {
    const next = others[index + 1] ?? point;
    const isLast = index === others.length - 2;
    const end = isLast ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q${pair(point)} ${pair(end)}`;
  });
  const last = others.at(-1);
  if (!parts.length && last) parts.push(`L${pair(last)}`);
  return `M${pair(first)} ${parts.join(" ")}`;
}

function pair({ x, y }: Point): string {
  return `${round(x)} ${round(y)}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

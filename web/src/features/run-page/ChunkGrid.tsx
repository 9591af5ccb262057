/** The chunks of a program's volume by state: one square for each chunk, the layers along z next to each other. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { body, client, errorText } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { ChunkStates, RunDetail } from "@/shared/api/types";
import { formatCount, pluralize } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { hasEnded } from "@/shared/state/state";
import styles from "./ChunkGrid.module.css";

const STATES = [
  { letter: "d", name: "done", style: styles.chunkDone },
  { letter: "m", name: "labeled", style: styles.chunkLabeled },
  { letter: "l", name: "leased", style: styles.chunkLeased },
  { letter: "w", name: "waiting", style: styles.chunkWaiting },
] as const;
const STAGES = { chunks: "chunks", merge: "merge of components", numbers: "numbers" } as const;

export function ChunkGrid({ run }: { run: RunDetail }) {
  const { chunks, error } = useChunks(run);
  return (
    <section className={classNames("panel", styles.chunkPanel)} aria-label="Chunks">
      <PanelHeader>
        <h2>Chunks</h2>
        {chunks && <span className="muted small">{stagesText(chunks)}</span>}
      </PanelHeader>
      {chunks ? (
        <Grid chunks={chunks} />
      ) : (
        <p className="muted">
          {error ? `The chunks cannot be shown: ${errorText(error)}.` : "No worker has begun."}
        </p>
      )}
    </section>
  );
}

function Grid({ chunks }: { chunks: ChunkStates }) {
  const { counts, states } = chunks;
  const layout = useMemo(() => layOut(counts), [counts]);
  const present = STATES.map((state) => ({ ...state, count: countOf(states, state.letter) })).filter(
    ({ count }) => count > 0,
  );
  const text = present.map(({ name, count }) => `${formatCount(count)} ${name}`).join(", ");
  return (
    <>
      <p className={classNames("small", styles.chunkLegend)}>
        {present.map(({ name, count, style }) => (
          <span key={name} className={style}>
            <i /> {formatCount(count)} {name}
          </span>
        ))}
        {chunks.taken_over > 0 && (
          <span>{`${pluralize(chunks.taken_over, "lease")} ended without a result and went to another worker`}</span>
        )}
      </p>
      <svg
        role="img"
        aria-label={`${counts.join(" × ")} chunks: ${text}`}
        viewBox={`0 0 ${layout.width} ${layout.height}`}
        style={{ width: `${layout.width}px` }}
      >
        {present.map(({ letter, name, style }) => (
          <path key={name} data-testid={name} className={style} d={pathOf(states, letter, layout)} />
        ))}
      </svg>
    </>
  );
}

function countOf(states: string, letter: string): number {
  return states.split(letter).length - 1;
}

/** Return "chunks 30 of 64, numbers 0 of 64": the stages with several tasks, and a merge that is done. */
function stagesText({ stages }: ChunkStates): string {
  return stages
    .map(({ name, done, tasks }) => `${STAGES[name]} ${formatCount(done)} of ${formatCount(tasks)}`)
    .join(", ");
}

export type ChunkCounts = readonly number[]; // along z, y and x

const WIDTH = 960;
const LARGEST_CELL = 14;
const LAYER_GAP = 1; // cells between two layers

/** Where each chunk of a volume stands in the picture: the layers along z next to each other, in rows. */
export interface ChunkLayout {
  cell: number;
  width: number;
  height: number;
  place: (index: number) => { x: number; y: number };
}

/** Return the largest cells with which the layers are at most about as high as they are wide. */
export function layOut(counts: ChunkCounts): ChunkLayout {
  const [layers = 1, rows = 1, columns = 1] = counts;
  const across = acrossOf(layers, rows, columns);
  const width = across * (columns + LAYER_GAP) - LAYER_GAP;
  const height = Math.ceil(layers / across) * (rows + LAYER_GAP) - LAYER_GAP;
  const cell = Math.min(LARGEST_CELL, WIDTH / width);
  return {
    cell,
    width: width * cell,
    height: height * cell,
    place: (index) => {
      const layer = Math.floor(index / (rows * columns));
      const row = Math.floor(index / columns) % rows;
      return {
        x: ((layer % across) * (columns + LAYER_GAP) + (index % columns)) * cell,
        y: (Math.floor(layer / across) * (rows + LAYER_GAP) + row) * cell,
      };
    },
  };
}

/** Return how many layers stand next to each other. */
function acrossOf(layers: number, rows: number, columns: number): number {
  const fit = Math.floor(WIDTH / (LARGEST_CELL * (columns + LAYER_GAP)));
  const even = Math.ceil(Math.sqrt((3 * layers * (rows + LAYER_GAP)) / (columns + LAYER_GAP))); // three times as wide as high
  return Math.min(layers, Math.max(1, fit, even));
}

/** Return one SVG path with a square for each chunk of a state. */
export function pathOf(states: string, state: string, { cell, place }: ChunkLayout): string {
  const side = round(cell > 4 ? cell - 1 : cell * 0.9);
  let path = "";
  for (let index = states.indexOf(state); index >= 0; index = states.indexOf(state, index + 1)) {
    const { x, y } = place(index);
    path += `M${round(x)} ${round(y)}h${side}v${side}h${-side}z`;
  }
  return path;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** GET /runs/{id}/chunks: the states of the chunks of a program's volume. */
function useChunks(run: RunDetail): { chunks: ChunkStates | null; error: Error | null } {
  const pollInterval = usePollInterval();
  const { data, error } = useQuery({
    queryKey: keys.runChunks(run.id, run.attempt, hasEnded(run.state)),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/chunks", { params: { path: { run_id: run.id } }, signal })),
    refetchInterval: pollInterval(!hasEnded(run.state)),
  });
  return { chunks: data ?? null, error };
}

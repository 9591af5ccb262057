/** The chunks of a program's volume by state: one square for each chunk, the layers along z next to each other. */
import { useMemo } from "react";
import type { ChunkStates, RunDetail } from "@/shared/api/types";
import { formatCount, pluralize } from "@/shared/format/number";
import { errorText } from "@/shared/api/client";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { classNames } from "@/shared/page/classNames";
import { useChunks } from "../api/useChunks";
import styles from "./ChunkGrid.module.css";
import { layOut, pathOf } from "./chunkLayout";

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

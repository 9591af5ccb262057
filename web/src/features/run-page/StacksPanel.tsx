/** Where each rank of a program is or was: the newest stacks; open by itself after a stall. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { body, client, errorText } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { AttemptStacks, RunDetail } from "@/shared/api/types";
import { classNames } from "@/shared/page/classNames";
import { hasEnded } from "@/shared/state/state";
import styles from "./ProgramPanel.module.css";

export function StacksPanel({ run }: { run: RunDetail }) {
  const [open, setOpen] = useState(run.failure?.kind === "collective_timeout");
  const { stacks, error } = useStacks(run, open);
  return (
    <section className={classNames("panel", styles.programPanel)} aria-label="Stacks">
      <button
        className="plain"
        aria-expanded={open}
        onClick={() => {
          setOpen(!open);
        }}
      >
        <h2>{open ? "▾" : "▸"} Stacks of the ranks</h2>
      </button>
      {open && error && !stacks && <p>The stacks cannot be shown: {errorText(error)}.</p>}
      {open && stacks && <Stacks stacks={stacks} failed={run.failure?.rank ?? null} />}
    </section>
  );
}

function Stacks({ stacks, failed }: { stacks: AttemptStacks; failed: number | null }) {
  if (!stacks.ranks.length)
    return <p className="muted">No rank has left stacks: only Python programs with a time split do.</p>;
  return (
    <>
      <p className="small muted">{`of attempt ${stacks.attempt}`}</p>
      {stacks.ranks.map(({ rank, written_at, text }) => (
        <details key={rank} open={rank === failed}>
          <summary>
            {`Rank ${rank} `}
            <span className="small muted">{new Date(written_at * 1000).toLocaleTimeString()}</span>
          </summary>
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls */}
          <pre className={styles.commandLine} tabIndex={0} aria-label={`Stacks of rank ${rank}`}>
            {text}
          </pre>
        </details>
      ))}
      {stacks.next !== null && <p className="muted">further ranks: bigbatch why RUN --stacks</p>}
    </>
  );
}

/**
 * GET /runs/{id}/stacks: the newest stacks of the first 64 ranks of a program's latest attempt.
 *
 * Return the stacks while `enabled`, because a reader rarely needs them.
 */
function useStacks(run: RunDetail, enabled: boolean): { stacks?: AttemptStacks; error: Error | null } {
  const pollInterval = usePollInterval();
  const { data, error } = useQuery({
    queryKey: keys.runStacks(run.id, run.attempt),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/stacks", { params: { path: { run_id: run.id } }, signal })),
    enabled,
    refetchInterval: pollInterval(!hasEnded(run.state)),
  });
  return data ? { stacks: data, error } : { error };
}

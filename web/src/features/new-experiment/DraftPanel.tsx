/** What the service would do with the text: its errors, or the runs, and the batch scripts on request. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { ApiError, body, client, errorText } from "@/shared/api/client";
import { useNow } from "@/shared/api/clock";
import { keys } from "@/shared/api/keys";
import type { ExperimentDraft, PredictedStart } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { formatClock, formatRoughly, secondsBetween } from "@/shared/format/time";
import { ownValue, valueText } from "@/shared/format/value";
import { yamlBody } from "@/shared/lifecycle/create";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import styles from "./DraftPanel.module.css";

const SHOWN = 20; // runs in the table

interface Props {
  text: string;
  settled: string; // the text of the draft: the reader may have typed on
  draft: ExperimentDraft | undefined;
  error: Error | null;
  onSelect: (path: string) => void;
}

export function DraftPanel({ text, settled, draft, error, onSelect }: Props) {
  if (error) return <Errors error={error} onSelect={onSelect} />;
  if (!draft) return null;
  return (
    <>
      <Runs draft={draft} />
      <StartsPanel text={settled} />
      <Scripts key={text} text={text} />
    </>
  );
}

function Errors({ error, onSelect }: { error: Error; onSelect: (path: string) => void }) {
  const fields = error instanceof ApiError ? error.fields : [];
  return (
    <section className={`panel ${styles.draftPanel ?? ""}`} role="alert" aria-label="Errors">
      <PanelHeader>
        <h2>{fields.length ? pluralize(fields.length, "error") : "The spec cannot be read"}</h2>
      </PanelHeader>
      {fields.length === 0 && <p>{error.message}</p>}
      <ul className={styles.errorList}>
        {fields.map(({ path, message }) => (
          <li key={`${path} ${message}`}>
            {path && (
              <button
                type="button"
                className="plain"
                title="select the field in the text"
                onClick={() => {
                  onSelect(path);
                }}
              >
                <code>{path}</code>
              </button>
            )}{" "}
            {message}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Runs({ draft: { runs } }: { draft: ExperimentDraft }) {
  const names = Object.keys(runs[0]?.values ?? {});
  return (
    <section className={`panel ${styles.draftPanel ?? ""}`} aria-label="Runs">
      <PanelHeader>
        <h2>{pluralize(runs.length, "run")}</h2>
        <p className="muted">{summaryOf(runs)}</p>
      </PanelHeader>
      <ScrollRegion className="scroll" label="Runs of the draft">
        <table>
          <thead>
            <tr>
              <th scope="col">run</th>
              {names.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
              <th scope="col">on</th>
              <th scope="col">ranks</th>
              <th scope="col">steps</th>
            </tr>
          </thead>
          <tbody>
            {runs.slice(0, SHOWN).map(({ number, values, cluster, world, steps }) => (
              <tr key={number}>
                <td>{number}</td>
                {names.map((name) => (
                  <td key={name}>{valueText(ownValue(values, name))}</td>
                ))}
                <td>{cluster}</td>
                <td>{world}</td>
                <td>{steps.toLocaleString("en")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {runs.length > SHOWN && <p className="small muted">and {runs.length - SHOWN} more</p>}
    </section>
  );
}

function Scripts({ text }: { text: string }) {
  const scripts = useScripts();
  return (
    <section className={`panel ${styles.draftPanel ?? ""}`} aria-label="Batch scripts">
      <PanelHeader
        actions={
          <button
            type="button"
            className="button"
            disabled={scripts.isPending}
            onClick={() => {
              scripts.mutate(text);
            }}
          >
            {scripts.isPending ? "Writing …" : "Show the batch scripts"}
          </button>
        }
      >
        <h2>Batch scripts</h2>
      </PanelHeader>
      {scripts.error && <p role="alert">{scripts.error.message}</p>}
      {scripts.data && <pre className={styles.scriptText}>{scripts.data}</pre>}
    </section>
  );
}

function summaryOf(runs: ExperimentDraft["runs"]): string {
  const most = Math.max(...runs.map(({ world }) => world));
  const steps = runs.reduce((sum, run) => sum + run.steps, 0);
  const parts = [`at most ${pluralize(most, "rank")} a run`];
  if (steps) parts.push(`${steps.toLocaleString("en")} steps in all`);
  return parts.join(", ");
}

const SOON_S = 60; // a start within a minute is one at once

/** When the jobs of the draft would start, if it were submitted now. */
function StartsPanel({ text }: { text: string }) {
  const { data, error } = useStarts(text);
  const now = useNow(10_000);
  return (
    <section className={`panel ${styles.draftPanel ?? ""}`} aria-label="Predicted start">
      <PanelHeader>
        <h2>Predicted start</h2>
      </PanelHeader>
      {error && <p>There is no prediction: {errorText(error)}.</p>}
      {!error && !data && <p className="muted">Asking the queue …</p>}
      <ul>
        {data?.map((start, place) => (
          // the order of the grid: two kinds of jobs may have equal predictions
          <li key={place}>
            <strong>{momentText(start, now)}</strong>{" "}
            <span className="muted">
              {start.cluster}, {pluralize(start.runs, "run")}: {start.text}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function momentText({ starts_at }: PredictedStart, now: number): string {
  if (starts_at === null) return "not known";
  const seconds = secondsBetween(new Date(now).toISOString(), starts_at);
  return seconds < SOON_S ? "at once" : `in ${formatRoughly(seconds)}, at ${formatClock(starts_at, now)}`;
}

const ASK_AGAIN_MS = 60_000; // queues change

/**
 * POST /starts: when the jobs of a text would start.
 *
 * The text is a valid draft.
 */
function useStarts(text: string) {
  return useQuery({
    queryKey: keys.draftStarts(text),
    queryFn: async ({ signal }) =>
      (await body(client.POST("/api/v1/starts", { ...yamlBody(text), signal }))).starts,
    staleTime: ASK_AGAIN_MS,
    refetchInterval: ASK_AGAIN_MS,
    gcTime: ASK_AGAIN_MS,
  });
}

/** POST /scripts: the batch scripts that a text describes. */
function useScripts() {
  return useMutation({
    mutationFn: async (text: string) => (await body(client.POST("/api/v1/scripts", yamlBody(text)))).text,
  });
}

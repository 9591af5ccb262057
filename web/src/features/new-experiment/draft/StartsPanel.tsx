/** When the jobs of the draft would start, if it were submitted now. */
import type { PredictedStart } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { formatClock, formatRoughly, secondsBetween } from "@/shared/format/time";
import { errorText } from "@/shared/api/client";
import { useNow } from "@/shared/api/clock";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { useStarts } from "../api/useStarts";
import styles from "./DraftPanel.module.css";

const SOON_S = 60; // a start within a minute is one at once

export function StartsPanel({ text }: { text: string }) {
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

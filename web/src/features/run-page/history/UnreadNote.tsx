/** What the service could not read of what a run wrote: damaged lines, or a folder that is gone. */
import type { RunDetail } from "@/shared/api/types";

export function UnreadNote({ run }: { run: RunDetail }) {
  if (!run.unread) return null;
  return (
    <ul className="muted" aria-label="Damaged files">
      <li>Damaged files: {run.unread.sentence}.</li>
    </ul>
  );
}

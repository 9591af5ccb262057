/** What the service could not read of what a run wrote: damaged lines, a folder that is gone, or another tracker. */
import type { RunDetail } from "@/shared/api/types";

export function UnreadNote({ run }: { run: RunDetail }) {
  if (!run.unread) return null;
  const title = run.unread.lines || run.unread.folder_gone ? "Damaged files" : "Metrics";
  return (
    <ul className="muted" aria-label={title}>
      <li>
        {title}: {run.unread.sentence}.
      </li>
    </ul>
  );
}

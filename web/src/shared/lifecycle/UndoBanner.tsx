/** A banner after a deletion, with the button that undoes it. */
import { capitalized } from "@/shared/format/value";
import { Link } from "wouter";
import { formatClock } from "@/shared/format/time";
import { errorText } from "@/shared/api/client";
import { useNow } from "@/shared/api/clock";
import { type LastDeletion, recordDeletion, useLastDeletion, useRestore } from "./deletions";
import styles from "./UndoBanner.module.css";

export function UndoBanner() {
  const last = useLastDeletion();
  return <div role="status">{last && <Banner key={last.until} last={last} />}</div>;
}

function Banner({ last }: { last: LastDeletion }) {
  const now = useNow(60_000);
  const restore = useRestore();
  const close = () => {
    recordDeletion(null);
  };
  return (
    <div className={styles.undo}>
      <span>
        {capitalized(last.name)} {last.targets.length === 1 ? "is" : "are"} deleted. The files stay until{" "}
        {formatClock(last.until, now)}.
      </span>
      <button
        className="button"
        disabled={restore.isPending}
        onClick={() => {
          restore.mutate(last.targets, { onSuccess: close });
        }}
      >
        Undo
      </button>
      <Link href="/deleted">All deletions</Link>
      <button className="plain muted" onClick={close}>
        Close
      </button>
      {restore.error && <span>Nothing was restored: {errorText(restore.error)}</span>}
    </div>
  );
}

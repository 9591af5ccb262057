/** The line of a run that asks for a finished run's result: which it took, or why it was carried out. */
import { Link } from "wouter";
import type { RunDetail } from "@/shared/api/types";
import { useReuse } from "../api/useReuse";

export function ReuseNote({ run }: { run: RunDetail }) {
  const reuse = useReuse(run);
  if (!reuse || reuse.taken_from !== null) return null; // the reason of the state names the other run
  return (
    <p className="small muted" aria-label="Reuse">
      {`Reuse: ${reuse.sentence}`}
      {reuse.nearest !== null && (
        <>
          {" "}
          <Link href={`/runs/${reuse.nearest}`}>run {reuse.nearest}</Link>
        </>
      )}
    </p>
  );
}

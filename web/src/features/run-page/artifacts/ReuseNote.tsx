/** The line of a run that asks for a finished run's result: which it took, or why it was carried out. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { RunDetail, RunReuse } from "@/shared/api/types";

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

/**
 * GET /runs/{id}/reuse: whether a run took a finished run's result, or why not.
 *
 * Return the answer for a run whose spec asks for a finished run's result.
 */
function useReuse(run: RunDetail): RunReuse | undefined {
  const { data } = useQuery({
    queryKey: keys.runReuse(run.id, run.state),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/reuse", { params: { path: { run_id: run.id } }, signal })),
    enabled: run.spec.kind !== "recorded" && run.spec.reuse,
  });
  return data;
}

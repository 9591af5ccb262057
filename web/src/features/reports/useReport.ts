/** GET, PATCH and PUT of a report and its blocks. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { components } from "@/shared/api/schema";

export function useReport(id: number) {
  return useQuery({
    queryKey: keys.report(id),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/reports/{report_id}", { params: { path: { report_id: id } }, signal })),
  });
}

export interface ReportChange {
  title?: string;
  order?: number[];
  deleted?: boolean;
}

/** A field that the change lacks stays as it is. */
export function useChangeReport(id: number) {
  return useReportMutation((change: ReportChange) => {
    const params = { path: { report_id: id } };
    const sent = change as components["schemas"]["ReportChange"];
    return body(client.PATCH("/api/v1/reports/{report_id}", { params, body: sent }));
  });
}

export function useReplaceText(id: number) {
  return useReportMutation(({ block, markdown }: { block: number; markdown: string }) =>
    body(
      client.PUT("/api/v1/reports/{report_id}/blocks/{block_id}", {
        params: { path: { report_id: id, block_id: block } },
        body: { kind: "text", markdown },
      }),
    ),
  );
}

function useReportMutation<T, R>(send: (change: T) => Promise<R>) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSettled: () => cache.invalidateQueries({ queryKey: keys.reports() }),
  });
}

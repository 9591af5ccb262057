/** GET and POST of /reports, and of their blocks. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { Block } from "./blocks";

export function useReports() {
  return useQuery({
    queryKey: keys.reports(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/reports", { signal })),
  });
}

export function useNewReport() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (title: string) => body(client.POST("/api/v1/reports", { body: { title } })),
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.reports() }),
  });
}

interface Addition {
  report: { id: number } | { title: string }; // without an id a new report
  blocks: Block[];
}

/** Add blocks to a report, or to a new one; the result is its id. */
export function useAddBlocks() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: async ({ report, blocks }: Addition) => {
      const { id } = "id" in report ? report : await body(client.POST("/api/v1/reports", { body: report }));
      for (const content of blocks) {
        const params = { path: { report_id: id } };
        await body(client.POST("/api/v1/reports/{report_id}/blocks", { params, body: { content } }));
      }
      return id;
    },
    onSettled: () => cache.invalidateQueries({ queryKey: keys.reports() }),
  });
}

/** POST /experiments/{id}/search/pause, resume and extend. */
import { useMutation } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";

export type SearchRequest = { kind: "pause" | "resume" } | { kind: "extend"; trials: number };

export function useChangeSearch(id: number, refresh: () => Promise<unknown>) {
  return useMutation({
    mutationFn: (asked: SearchRequest) => {
      const params = { path: { experiment_id: id } };
      switch (asked.kind) {
        case "pause":
          return body(client.POST("/api/v1/experiments/{experiment_id}/search/pause", { params }));
        case "resume":
          return body(client.POST("/api/v1/experiments/{experiment_id}/search/resume", { params }));
        case "extend":
          return body(
            client.POST("/api/v1/experiments/{experiment_id}/search/extend", {
              params,
              body: { trials: asked.trials, rank_hours: null },
            }),
          );
      }
    },
    onSuccess: refresh,
  });
}

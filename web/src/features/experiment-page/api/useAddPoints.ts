/** POST /experiments/{id}/points: add runs to an experiment. */
import { useMutation } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";

export interface NewPoints {
  axes: Record<string, unknown[]>;
  points: Record<string, unknown>[];
}

export function useAddPoints(id: number, refresh: () => Promise<unknown>) {
  return useMutation({
    mutationFn: (asked: NewPoints) => {
      const params = { path: { experiment_id: id } };
      const request = { params, body: { ...asked, like: null } };
      return body(client.POST("/api/v1/experiments/{experiment_id}/points", request));
    },
    onSuccess: refresh,
  });
}

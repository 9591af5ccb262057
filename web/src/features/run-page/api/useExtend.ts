/** POST /runs/{id}/extend: let a run that is done go on to more epochs. */
import { useMutation } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";

export function useExtend(id: number, refresh: () => Promise<unknown>) {
  return useMutation({
    mutationFn: (epochs: number) => {
      const params = { path: { run_id: id } };
      return body(client.POST("/api/v1/runs/{run_id}/extend", { params, body: { epochs } }));
    },
    onSuccess: refresh,
  });
}

/** GET, PATCH and DELETE of /schedules. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { body, client, done } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { pollInterval } from "@/shared/api/polling";

export function useSchedules() {
  return useQuery({
    queryKey: keys.schedules(),
    queryFn: async ({ signal }) => (await body(client.GET("/api/v1/schedules", { signal }))).schedules,
    refetchInterval: pollInterval(false),
  });
}

export function useSchedule(id: number) {
  return useQuery({
    queryKey: keys.schedule(id),
    queryFn: ({ signal }) => {
      const params = { path: { schedule_id: id } };
      return body(client.GET("/api/v1/schedules/{schedule_id}", { params, signal }));
    },
    refetchInterval: pollInterval(false),
  });
}

export function usePauseSchedule(id: number) {
  return useScheduleMutation((paused: boolean) => {
    const params = { path: { schedule_id: id } };
    return body(client.PATCH("/api/v1/schedules/{schedule_id}", { params, body: { paused } }));
  });
}

export function useDeleteSchedule(id: number) {
  return useScheduleMutation(() =>
    done(client.DELETE("/api/v1/schedules/{schedule_id}", { params: { path: { schedule_id: id } } })),
  );
}

function useScheduleMutation<Request, Result>(send: (request: Request) => Promise<Result>) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.schedules() }),
  });
}

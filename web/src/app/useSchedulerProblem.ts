/** GET /ready: why the scheduler does not work; without it the pages show old states, and nothing starts or ends. */
import { useQuery } from "@tanstack/react-query";
import { client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

const EVERY_MS = 15_000;

export function useSchedulerProblem(): string | null {
  const { data } = useQuery({
    queryKey: keys.readiness(),
    queryFn: async ({ signal }) => {
      const { data: ready, error } = await client.GET("/api/v1/ready", { signal });
      const answer = ready ?? error;
      return "scheduler" in answer ? answer.scheduler : "ok"; // another error has a banner of its own
    },
    refetchInterval: EVERY_MS,
    retry: false,
  });
  return data === undefined || data === "ok" ? null : data;
}

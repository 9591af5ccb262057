/** POST /plans: the plan of a training job; the service stores nothing. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { PlanRequest } from "@/shared/api/types";

export function useTrainingPlan(request: PlanRequest) {
  return useQuery({
    queryKey: keys.trainingPlan(request),
    queryFn: ({ signal }) => body(client.POST("/api/v1/plans", { body: request, signal })),
    placeholderData: keepPreviousData,
    staleTime: Infinity, // a plan depends on its request only
    retry: false,
  });
}

/** GET /experiments/{id}/answer: the figure of an experiment over its axes. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";

/** What the reader chose instead of the defaults. */
export interface AnswerChoice {
  figure?: string;
  target?: number; // 0 to 1
  baseline?: number; // index of a group
  step?: string; // of a workflow
}

export function useAnswer(experimentId: number, choice: AnswerChoice, live: boolean) {
  const pollInterval = usePollInterval();
  return useQuery({
    queryKey: keys.experimentAnswer(experimentId, choice),
    queryFn: ({ signal }) => {
      const params = { path: { experiment_id: experimentId }, query: choice };
      return body(client.GET("/api/v1/experiments/{experiment_id}/answer", { params, signal }));
    },
    // the old picture stays until the new one is there
    placeholderData: (before) => before,
    refetchInterval: live && pollInterval(false), // an answer changes with evaluations, not with steps
    retry: false, // a choice that no run has is refused each time
  });
}

/** GET /experiments/{id}/answer: the figure of an experiment over its axes. */
import { useQuery } from "@tanstack/react-query";
import { type AddressChange, changeAddress, useAddress } from "@/shared/page/address";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";

/** What the reader chose instead of the defaults. */
interface AnswerChoice {
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

/** The reader's choices for the answer, which the address of the page holds: a link shows the same picture. */
export function useAnswerChoice(): [AnswerChoice, (change: AddressChange) => void] {
  const address = useAddress();
  const figure = address.get("figure");
  const target = numberOf(address.get("target"));
  const baseline = numberOf(address.get("baseline"));
  const choice: AnswerChoice = {
    ...(figure ? { figure } : {}),
    ...(target !== null && target > 0 && target <= 100 ? { target: target / 100 } : {}),
    ...(baseline !== null && Number.isInteger(baseline) && baseline >= 0 ? { baseline } : {}),
  };
  return [choice, changeAddress];
}

function numberOf(text: string | null): number | null {
  return text === null || text.trim() === "" || Number.isNaN(Number(text)) ? null : Number(text);
}

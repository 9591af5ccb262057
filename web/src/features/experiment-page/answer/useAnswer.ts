/** GET /experiments/{id}/answer: the figure of an experiment over its axes. */
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
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

const NAMES = ["figure", "target", "baseline"] as const;

/** The reader's choices for the answer, which the address of the page holds: a link shows the same picture. */
export function useAnswerChoice(): [
  AnswerChoice,
  (change: Partial<Record<keyof AnswerChoice, string>>) => void,
] {
  const [search, setSearch] = useSearchParams();
  const figure = search.get("figure");
  const target = numberOf(search.get("target"));
  const baseline = numberOf(search.get("baseline"));
  const choice: AnswerChoice = {
    ...(figure ? { figure } : {}),
    ...(target !== null && target > 0 && target <= 100 ? { target: target / 100 } : {}),
    ...(baseline !== null && Number.isInteger(baseline) && baseline >= 0 ? { baseline } : {}),
  };
  const onChange = (change: Partial<Record<keyof AnswerChoice, string>>) => {
    setSearch(
      (before) => {
        const next = new URLSearchParams(before);
        for (const name of NAMES) {
          const value = change[name];
          if (value) next.set(name, value);
          else if (value === "") next.delete(name);
        }
        return next;
      },
      { replace: true },
    );
  };
  return [choice, onChange];
}

function numberOf(text: string | null): number | null {
  return text === null || text.trim() === "" || Number.isNaN(Number(text)) ? null : Number(text);
}

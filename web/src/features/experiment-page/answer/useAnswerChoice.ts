/** The reader's choices for the answer, which the address of the page holds: a link shows the same picture. */
import { useSearchParams } from "wouter";
import type { AnswerChoice } from "../api/useAnswer";

const NAMES = ["figure", "target", "baseline"] as const;

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

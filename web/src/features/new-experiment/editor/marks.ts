/** The marks of a text: where it cannot be read, and the fields that the service refuses. */
import type { Diagnostic } from "@codemirror/lint";
import type { ApiError } from "@/shared/api/client";
import { placeOf, type TextProblem } from "./document";

export function marksOf(text: string, problems: TextProblem[], errors: ApiError["fields"]): Diagnostic[] {
  if (problems.length) return problems.map((problem) => ({ severity: "error", ...problem }));
  return errors.flatMap(({ path, message }) => {
    const place = placeOf(text, path);
    return place ? [{ severity: "error", from: place.from, to: place.to, message }] : [];
  });
}

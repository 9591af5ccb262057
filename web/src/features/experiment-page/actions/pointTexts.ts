/** Values of axes and points as a reader types them. */
import type { ExperimentDetail } from "@/shared/api/types";

import { ownValue } from "@/shared/format/value";

export const POINT = " point"; // no axis has this name

type Spec = ExperimentDetail["spec"];

/** Return a point with fields of this experiment: of its axes, else a parameter of its program. */
export function examplePoint({ axes, base }: Spec): Record<string, unknown> {
  const varied = Object.entries(axes).map(([path, values]) => [path, values.at(-1)] as const);
  if (varied.length) return Object.fromEntries(varied.slice(0, 2));
  if (base?.kind !== "program") return { batch: 2048, seed: 1 };
  const [first] = Object.entries(base.parameters).filter(([, value]) => typeof value !== "object");
  return first ? { [`parameters.${first[0]}`]: first[1] } : { "resources.minutes": 120 };
}

/** Return the points of the texts, the error of each text that cannot be read, and whether there is nothing to add. */
export function readTexts(texts: Record<string, string>, paths: string[]) {
  const wrong = new Map<string, string>();
  const attempt = <T>(path: string, reader: (text: string) => T): T | null => {
    const text = ownValue(texts, path)?.trim();
    if (!text) return null;
    try {
      return reader(text);
    } catch (error) {
      wrong.set(path, (error as Error).message);
      return null;
    }
  };
  const found = paths.map((path) => [path, attempt(path, readValues)] as const);
  const axes = Object.fromEntries(found.flatMap(([path, values]) => (values ? [[path, values]] : [])));
  const point = attempt(POINT, readPoint);
  const isEmpty = (!Object.keys(axes).length && !point) || wrong.size > 0;
  return { asked: { axes, points: point ? [point] : [] }, wrong, isEmpty };
}

/** Return the values of "0.1, 0.2" or "ring, torus"; throw an error with the reason for a text that has none. */
function readValues(text: string): unknown[] {
  try {
    return JSON.parse(`[${text}]`) as unknown[];
  } catch {
    if (/[{}[\]"]/.test(text)) throw new Error("values in JSON, with commas between them");
    return text.split(",").map((word) => plainValue(word.trim()));
  }
}

/** Return the point of `{"batch": 2048}`; throw an error with the reason for any other text. */
function readPoint(text: string): Record<string, unknown> {
  const value = parsed(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error('an object in JSON, as {"batch": 2048}');
  return value as Record<string, unknown>;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function plainValue(word: string): unknown {
  return parsed(word) ?? word;
}

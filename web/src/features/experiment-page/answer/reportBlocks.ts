/** An answer as parts of a report: its sentence, its picture with the data, and its runs. */
import type { Answer } from "@/shared/api/types";
import { type CsvValue, csvText } from "@/shared/files/csv";
import { pictureIn } from "@/shared/files/htmlPicture";
import type { LegendEntry } from "@/shared/files/picture";
import { type Block, pictureBlock, runsBlock, textBlock } from "@/shared/reports/blocks";
import { PARTS } from "@/shared/series/catalog";
import type { Theme } from "@/shared/theme/theme";
import { legendOf } from "./scales";

const FIGURES = ["best(heldout_accuracy)", "duration"];

export function blocksOfAnswer(
  answer: Answer,
  name: string,
  fields: readonly string[],
  theme: Theme,
): Block[] {
  const { groups, sentence } = answer;
  const runs = groups.flatMap((group) => group.runs);
  const picture = pictureOfAnswer();
  const file = {
    title: titleOf(answer),
    legend: legendOfAnswer(answer, theme),
    csv: csvText(linesOf(answer)),
    runs,
  };
  const drawn = answer.figure && picture ? [pictureBlock(picture, file)] : [];
  return [
    textBlock(`## ${name}\n\n${sentence}`),
    ...drawn,
    runsBlock(`Runs of ${name}`.slice(0, 200), runs, [...fields, ...FIGURES]),
  ];
}

/** The id of the element with the answer's picture. */
export const PICTURE_ID = "answer-picture";

/** Return the picture of the answer as the page shows it. */
export function pictureOfAnswer(): SVGSVGElement | null {
  return pictureIn(document.getElementById(PICTURE_ID));
}

export function titleOf({ figure, x, y }: Answer): string {
  const against = [x?.name, y?.name].filter(Boolean).join(" and ");
  return `${figure?.title ?? "Answer"}${against && ` against ${against}`}`;
}

/** Return the legend of a file: of lines alone, since other pictures name their parts. */
export function legendOfAnswer({ groups, x, y }: Answer, theme: Theme): LegendEntry[] {
  return x && !y ? legendOf(groups, theme) : [];
}

/** Return the data of the picture: a line for each of its groups, with the seconds of the parts of a step. */
export function linesOf({ groups, x, y }: Answer): CsvValue[][] {
  const parts = PARTS.map(({ name }) => name).filter((name) => groups.some((group) => group.parts[name]));
  const heads = [x?.name ?? "x", y?.name ?? "y", "line", "runs", "done", "mean", "deviation", ...parts];
  return [
    heads,
    ...groups.map(({ x, y, label, runs, done, figure, parts: seconds }) => [
      ...[x, y, label, runs.length, done],
      ...[figure?.mean ?? null, figure?.deviation ?? null],
      ...parts.map((name) => seconds[name] ?? null),
    ]),
  ];
}

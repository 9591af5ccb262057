/** The picture of an answer, by its kind. */
import type { Answer } from "@/shared/api/types";
import { BarsPicture } from "./pictures/BarsPicture";
import { HeatMap } from "./pictures/HeatMap";
import { LinesPicture } from "./pictures/LinesPicture";
import { StepTimeBar } from "./pictures/StepTimeBar";

export function AnswerPicture({ answer }: { answer: Answer }) {
  const { figure, x, y, groups, picture } = answer;
  if (!figure || !groups.some((group) => group.figure)) return null;
  if (x && y) return <HeatMap answer={answer} figure={figure} x={x} y={y} />;
  if (x) return <LinesPicture answer={answer} figure={figure} x={x} />;
  if (picture === "bars") return <BarsPicture answer={answer} figure={figure} />;
  return groups[0] && <StepTimeBar parts={groups[0].parts} legend />;
}

/** The player of a plan: the diagram of a round, its description and the controls. */
import type { PlanView } from "@/shared/api/types";
import { classNames } from "@/shared/page/classNames";
import { shapeOf } from "@/shared/format/collectives";
import { algorithmName, algorithmSource } from "../operation/operations";
import { PlanDiagram } from "./PlanDiagram";
import { PlanLegend } from "./PlanLegend";
import styles from "./PlanPlayer.module.css";
import { PlaybackControls } from "./PlaybackControls";
import { roundText } from "./roundText";
import { usePlayback } from "./usePlayback";

interface Props {
  plan: PlanView;
  size_bytes: number;
}

export function PlanPlayer({ plan, size_bytes }: Props) {
  const rounds = plan.rounds.length;
  const playback = usePlayback(rounds);
  const description = roundText(plan, playback.at, size_bytes);
  return (
    <figure className={styles.player}>
      <figcaption>
        <h2>
          {algorithmName(plan.collective, plan.operation)}{" "}
          <span className="muted">{shapeOf(plan.collective)}</span>
        </h2>
        <p className="small muted">{algorithmSource(plan.collective, plan.operation)}</p>
      </figcaption>
      <div className={classNames("panel", styles.stage)}>
        <PlanDiagram plan={plan} at={playback.at} label={description} />
      </div>
      <PlaybackControls {...{ playback, rounds, description }} />
      <p className={styles.roundText}>{description}</p>
      <PlanLegend operation={plan.operation} />
    </figure>
  );
}

/** The spec of a run as YAML; the values that vary over the experiment are marked. */
import type { RunDetail } from "@/shared/api/types";
import { classNames } from "@/shared/page/classNames";
import { CollectiveChoices } from "./CollectiveChoices";
import { RankBindings } from "./RankBindings";
import { type SpecLine, specLines } from "./specLines";
import styles from "./SpecPanel.module.css";
import { TextPanel } from "./TextPanel";

export function SpecPanel({ run }: { run: RunDetail }) {
  return (
    <TextPanel title="Spec">
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls */}
      <pre tabIndex={0}>
        {specLines(run.spec, new Set(Object.keys(run.values))).map((line) => (
          <Line key={line.path} line={line} />
        ))}
      </pre>
      {run.choices && <CollectiveChoices choices={run.choices} />}
      {run.bindings && <RankBindings bindings={run.bindings} />}
      <p className={classNames("small muted", styles.folder)} title="the run's folder">
        {run.folder}
      </p>
    </TextPanel>
  );
}

function Line({ line }: { line: SpecLine }) {
  return (
    <div
      className={classNames(line.varied && styles.varied)}
      style={{ paddingInlineStart: `${line.depth * 2}ch` }}
    >
      <span className="muted">{line.key}:</span> {line.value}
    </div>
  );
}

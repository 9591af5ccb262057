/** The run's spec as a person would write it, what its experiment varies marked. */
import type { RunDetail } from "@/shared/api/types";
import { Bound } from "./RankBindings";
import { Chosen } from "./CollectiveChoices";
import { type SpecLine, specLines } from "./specLines";

export function SpecPanel({ run }: { run: RunDetail }) {
  return (
    <section className="panel text-panel" aria-label="Spec">
      <header className="chart-head">
        <h2>Spec</h2>
      </header>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard */}
      <pre className="text spec" tabIndex={0}>
        {specLines(run.spec, new Set(Object.keys(run.values))).map((line) => (
          <Line key={line.path} line={line} />
        ))}
      </pre>
      {run.choices && <Chosen choices={run.choices} />}
      {run.bindings && <Bound bindings={run.bindings} />}
      <p className="small muted folder" title="the run's folder">
        {run.folder}
      </p>
    </section>
  );
}

function Line({ line }: { line: SpecLine }) {
  return (
    <div className={line.varied ? "varied" : ""} style={{ paddingInlineStart: `${line.depth * 2}ch` }}>
      <span className="muted">{line.key}:</span> {line.value}
    </div>
  );
}

/** The command that carries a run out again, and what the new run has in common with this one. */
import type { RunDetail } from "@/shared/api/types";
import { CopyCommand } from "@/shared/controls/CopyCommand";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import styles from "./ReproductionPanel.module.css";

export function ReproductionPanel({ run }: { run: RunDetail }) {
  const { spec } = run;
  if (spec.kind === "recorded") return null; // this service starts no such run
  const code = spec.kind === "program" ? spec.code : null;
  return (
    <section className={classNames("panel", styles.reproduction)} aria-label="Reproduce this run">
      <PanelHeader>
        <h2>Reproduce this run</h2>
      </PanelHeader>
      <CopyCommand command={`bigbatch rerun ${run.id}`} />
      <p className="small muted">
        {code ? (
          <>
            The command submits the same spec, seed and code snapshot{" "}
            <code title={code}>{code.slice(0, 12)}</code> as a new experiment.
          </>
        ) : (
          `The command submits the same spec and seed as a new experiment. ${codeText(spec.kind)}`
        )}{" "}
        It works on any machine that reaches this service; packages and hosts are those that the new run
        finds.
      </p>
    </section>
  );
}

/** Return which code runs without a snapshot. */
function codeText(kind: "engine" | "program"): string {
  return kind === "engine"
    ? "The training engine is the one that the service has then."
    : "The run has no code snapshot: the program is as its folder has it then.";
}

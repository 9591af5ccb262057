/** What may be done with an experiment: stop, retry, rerun, clone, add runs, edit, archive, delete. */
import { useState } from "react";
import { useLocation } from "wouter";
import type { ExperimentDetail } from "@/shared/api/types";
import { Menu, type MenuItem } from "@/shared/controls/Menu";
import { StopButton } from "@/shared/lifecycle/StopButton";
import { pluralize } from "@/shared/format/number";
import { useLabels } from "@/shared/lifecycle/changes";
import { Outcome } from "@/shared/lifecycle/Outcome";
import { RetryButton } from "@/shared/lifecycle/RetryButton";
import { hasEnded } from "@/shared/state/state";
import { countsText } from "@/shared/state/StateBar";
import { hasSearch } from "../axes";
import { kindOf } from "../shownExperiment";
import { ExperimentDialog, type Opened } from "./ExperimentDialog";

interface Props {
  experiment: ExperimentDetail;
  stopping: boolean;
  refresh: () => Promise<unknown>;
}

export function ExperimentActions({ experiment, stopping, refresh }: Props) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const [outcome, setOutcome] = useState("");
  const [, navigate] = useLocation();
  const labels = useLabels({ kind: "experiment", id: experiment.id }, refresh);
  const close = (text = "") => {
    setOpened(null);
    setOutcome(text);
  };
  const clone = () => {
    navigate(`/new?from=${experiment.id}`);
  };
  const archive = () => {
    labels.mutate({ archived: experiment.archived_at === null });
  };
  return (
    <>
      <Stop experiment={experiment} stopping={stopping} />
      <Retries experiment={experiment} refresh={refresh} onResult={setOutcome} />
      <Menu label="More" items={itemsOf(experiment, setOpened, { archive, clone })} />
      {opened && <ExperimentDialog {...{ opened, experiment, refresh, close }} />}
      <Outcome text={outcome} error={labels.error} />
    </>
  );
}

function Stop({ experiment, stopping }: Pick<Props, "experiment" | "stopping">) {
  const active = activeCounts(experiment.counts);
  const runs = Object.values(active).reduce((sum, count) => sum + count, 0);
  if (!runs) return null;
  return (
    <StopButton
      target={{ kind: "experiment", id: experiment.id }}
      name={pluralize(runs, "run")}
      stopping={stopping}
    >
      {countsText(active)}. The curves remain stored. A stopped run can be resumed from its newest checkpoint.
    </StopButton>
  );
}

interface RetriesProps {
  experiment: ExperimentDetail;
  refresh: () => Promise<unknown>;
  onResult: (text: string) => void;
}

function Retries({ experiment, refresh, onResult }: RetriesProps) {
  const { failed = 0, cancelled = 0 } = experiment.counts;
  const target = { kind: "experiment", id: experiment.id } as const;
  const retry = { target, refresh, onResult };
  return (
    <>
      {failed > 0 && (
        <RetryButton {...retry} states={["failed"]} label={`Retry ${pluralize(failed, "failed run")}`} />
      )}
      {cancelled > 0 && (
        <RetryButton
          {...retry}
          states={["cancelled"]}
          label={`Resume ${pluralize(cancelled, "stopped run")}`}
        />
      )}
    </>
  );
}

function itemsOf(
  experiment: ExperimentDetail,
  open: (dialog: Opened) => void,
  direct: { archive: () => void; clone: () => void },
): MenuItem[] {
  const opening = (label: string, dialog: Opened, danger = false): MenuItem => ({
    label,
    danger,
    onSelect: () => {
      open(dialog);
    },
  });
  const isStarted = kindOf(experiment) !== "recorded"; // elsewhere: nothing here starts its runs
  return [
    opening("Edit name and labels…", "edit"),
    ...(isStarted
      ? [
          ...(kindOf(experiment) === "steps" || hasSearch(experiment)
            ? []
            : [opening("Add runs…", "points")]),
          opening("Rerun…", "rerun"),
          { label: "Clone with changes…", onSelect: direct.clone },
        ]
      : []),
    opening("Notifications…", "notify"),
    { label: experiment.archived_at ? "Unarchive" : "Archive", onSelect: direct.archive },
    ...(hasEnded(experiment.state) ? [opening("Delete…", "delete", true)] : []),
  ];
}

/** Return the counts of the runs that have not ended. */
function activeCounts(counts: ExperimentDetail["counts"]): ExperimentDetail["counts"] {
  return Object.fromEntries(
    Object.entries(counts).filter(([state]) => !hasEnded(state as ExperimentDetail["state"])),
  );
}

/** What may be done with a run: stop, retry, rerun, clone, extend, leave out, archive, delete. */
import { targetText } from "@/shared/api/target";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import type { RunDetail } from "@/shared/api/types";
import { Menu, type MenuItem } from "@/shared/controls/Menu";
import { StopButton } from "@/shared/lifecycle/StopButton";
import { useLabels, useRefresh } from "@/shared/lifecycle/changes";
import { DeleteDialog } from "@/shared/lifecycle/DeleteDialog";
import { Outcome } from "@/shared/lifecycle/Outcome";
import { RerunDialog } from "@/shared/lifecycle/RerunDialog";
import { RetryButton } from "@/shared/lifecycle/RetryButton";
import { compareAddress } from "@/shared/run-table/addresses";
import { hasEnded, stepsText } from "@/shared/state/state";
import { ExtendDialog } from "./ExtendDialog";
import { LeaveOutDialog } from "./LeaveOutDialog";

type Opened = "rerun" | "extend" | "leaveOut" | "delete";

interface Props {
  run: RunDetail;
}

export function RunActions({ run }: Props) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const [outcome, setOutcome] = useState("");
  const [, navigate] = useLocation();
  const target = { kind: "run", id: run.id } as const;
  const refresh = useRefresh(run.experiment_id, run.id);
  const labels = useLabels(target, refresh);
  const close = (text = "") => {
    setOpened(null);
    setOutcome(text);
  };
  const clone = () => {
    navigate(`/new?run=${run.id}`);
  };
  const archive = () => {
    labels.mutate({ archived: run.archived_at === null });
  };
  const count = () => {
    labels.mutate({ left_out: "" });
  };
  const compare = () => {
    navigate(compareAddress([run.id]));
  };
  return (
    <>
      <MainButton run={run} refresh={refresh} onResult={setOutcome} />
      <Menu label="More" items={itemsOf(run, setOpened, { archive, count, clone, compare })} />
      {opened && <OpenedDialog {...{ opened, run, refresh, close }} />}
      <Outcome text={outcome} error={labels.error} />
    </>
  );
}

interface MainButtonProps {
  run: RunDetail;
  refresh: () => Promise<unknown>;
  onResult: (text: string) => void;
}

/** The button for what is most likely next: stop, retry or resume. */
function MainButton({ run, refresh, onResult }: MainButtonProps): ReactNode {
  const target = { kind: "run", id: run.id } as const;
  const { state } = run;
  if (!hasEnded(state))
    return (
      <StopButton target={target} name={targetText(target)} stopping={run.stopping}>
        The run has taken {stepsText(run)}. Its curves remain stored. A stopped run can be resumed from its
        newest checkpoint.
      </StopButton>
    );
  if (state === "done") return null;
  const label = state === "failed" ? "Retry" : "Resume";
  return <RetryButton {...{ target, refresh, onResult }} states={[state as "failed"]} label={label} />;
}

function itemsOf(
  run: RunDetail,
  open: (dialog: Opened) => void,
  direct: { archive: () => void; count: () => void; clone: () => void; compare: () => void },
): MenuItem[] {
  const opening = (label: string, dialog: Opened, danger = false): MenuItem => ({
    label,
    danger,
    onSelect: () => {
      open(dialog);
    },
  });
  const canExtend = run.state === "done" && run.spec.kind === "engine";
  const isStarted = run.spec.kind !== "recorded"; // elsewhere: nothing here starts such a run
  return [
    { label: "Compare with…", onSelect: direct.compare },
    ...(isStarted
      ? [opening("Rerun…", "rerun"), { label: "Clone with changes…", onSelect: direct.clone }]
      : []),
    ...(canExtend ? [opening("Extend…", "extend")] : []),
    run.left_out === null
      ? opening("Leave out of answers…", "leaveOut")
      : { label: "Count in answers again", onSelect: direct.count },
    { label: run.archived_at ? "Unarchive" : "Archive", onSelect: direct.archive },
    ...(hasEnded(run.state) ? [opening("Delete…", "delete", true)] : []),
  ];
}

interface DialogProps extends Props {
  opened: Opened;
  refresh: () => Promise<unknown>;
  close: (outcome?: string) => void;
}

function OpenedDialog({ opened, run, refresh, close }: DialogProps) {
  const [, navigate] = useLocation();
  const onCancel = () => {
    close();
  };
  const name = `run ${run.id}`;
  const copy = {
    origin: run.experiment_id,
    copied: { kind: "run", id: run.id } as const,
    onCancel,
  };
  switch (opened) {
    case "rerun":
      return <RerunDialog {...copy} name={name} runs={1} />;
    case "extend": {
      if (run.spec.kind !== "engine") return null;
      return (
        <ExtendDialog runId={run.id} epochs={run.spec.epochs} {...{ refresh, onCancel }} onResult={close} />
      );
    }
    case "leaveOut":
      return <LeaveOutDialog runId={run.id} {...{ refresh, onCancel }} onResult={close} />;
    case "delete":
      return (
        <DeleteDialog
          target={{ kind: "run", id: run.id }}
          {...{ name, onCancel }}
          onDeleted={() => {
            void refresh();
            navigate(`/experiments/${run.experiment_id}`);
          }}
        />
      );
  }
}

/** A button that adds what a part of the page shows to a report. */
import { useState } from "react";
import { Link } from "wouter";
import { Choice } from "@/shared/controls/Choice";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import type { Block } from "./blocks";
import { useAddBlocks, useReports } from "./useReports";

export function AddToReport({ blocks }: { blocks: () => Block[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        className="button"
        onClick={() => {
          setOpen(true);
        }}
      >
        Add to report
      </button>
      {isOpen && (
        <AddToReportDialog
          blocks={blocks}
          onClose={() => {
            setOpen(false);
          }}
        />
      )}
    </>
  );
}

interface Props {
  blocks: () => Block[]; // as the page shows them now
  onClose: () => void;
}

const NEW = "";

/** The choice of the report to which blocks are added: a known one, or a new one by its title. */
export function AddToReportDialog({ blocks, onClose }: Props) {
  const { data } = useReports();
  const reports = data?.reports ?? [];
  const [chosen, setChosen] = useState<string | null>(null); // null: the newest one
  const [title, setTitle] = useState("");
  const add = useAddBlocks();
  const report = chosen ?? String(reports[0]?.id ?? NEW);
  const needsTitle = data !== undefined && report === NEW; // before the reports are known, none is chosen
  const isReady = isComplete(report, title);
  if (add.data !== undefined) return <Added report={add.data} onClose={onClose} />;
  return (
    <Dialog
      title="Add to a report"
      error={add.error}
      onCancel={onClose}
      onSubmit={() => {
        if (!isReady || add.isPending) return;
        add.mutate({ report: targetOf(report, title), blocks: blocks() });
      }}
      buttons={
        <button className="button primary" disabled={!isReady || add.isPending}>
          Add
        </button>
      }
    >
      <Choice
        label="Report"
        value={report}
        options={[
          ...reports.map((one): [string, string] => [String(one.id), one.title]),
          [NEW, "a new report"],
        ]}
        onChange={setChosen}
      />
      {needsTitle && <TextField label="Title of the new report" value={title} onChange={setTitle} />}
    </Dialog>
  );
}

function isComplete(report: string, title: string): boolean {
  return report !== NEW || title.trim() !== "";
}

function targetOf(report: string, title: string): { title: string } | { id: number } {
  return report === NEW ? { title: title.trim() } : { id: Number(report) };
}

function Added({ report, onClose }: { report: number; onClose: () => void }) {
  return (
    <Dialog title="Added" cancelLabel="Close" onCancel={onClose} onSubmit={onClose} buttons={null}>
      <p>
        <Link href={`/reports/${report}`}>Open the report</Link>
      </p>
    </Dialog>
  );
}

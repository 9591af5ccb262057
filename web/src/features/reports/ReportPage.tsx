/** A report: its parts in their order, which can be edited, moved and removed, and the report as a file. */
import { useState } from "react";
import { Link } from "wouter";
import type { ReportDetail } from "@/shared/api/types";
import { Menu } from "@/shared/controls/Menu";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { EmptyState } from "@/shared/messages/EmptyState";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { PageHeader, useTitle } from "@/shared/page/PageHeader";
import { serviceAddress } from "@/shared/page/root";
import { textBlock } from "@/shared/reports/blocks";
import { useAddBlocks } from "@/shared/reports/useReports";
import { BlockView } from "./BlockView";
import styles from "./ReportPage.module.css";
import { useChangeReport, useReport } from "./useReport";

export function ReportPage({ id }: { id: number }) {
  const { data, error } = useReport(id);
  const change = useChangeReport(id);
  useTitle(data ? `${data.title} · Report` : "Report");
  if (!data) return <QueryStatus error={error} />;
  if (data.deleted_at)
    return (
      <EmptyState title={`The report ${data.title} is deleted`}>
        <p>
          <button
            className="button"
            onClick={() => {
              change.mutate({ deleted: false });
            }}
          >
            Undo the deletion
          </button>
        </p>
        <Link href="/reports">All reports</Link>
      </EmptyState>
    );
  return <Report report={data} change={change} />;
}

interface Props {
  report: ReportDetail;
  change: ReturnType<typeof useChangeReport>;
}

function Report({ report, change }: Props) {
  const ids = report.content.map(({ id }) => id);
  const order = (next: number[]) => {
    change.mutate({ order: next });
  };
  const swapping = (at: number) =>
    at >= 0 && at < ids.length - 1
      ? () => {
          order(swapped(ids, at));
        }
      : null;
  return (
    <article>
      <PageHeader
        breadcrumbs={<Link href="/reports">Reports</Link>}
        title={report.title}
        action={<ReportActions report={report} change={change} />}
      />
      {change.error && <p role="alert">The change was not stored: {change.error.message}</p>}
      <div className={styles.parts}>
        {report.content.map((block, at) => (
          <BlockView
            key={block.id}
            reportId={report.id}
            block={block}
            onUp={swapping(at - 1)}
            onDown={swapping(at)}
            onRemove={() => {
              order(ids.filter((id) => id !== block.id));
            }}
          />
        ))}
      </div>
      <NewText reportId={report.id} />
    </article>
  );
}

function ReportActions({ report, change }: Props) {
  const [isRenaming, setRenaming] = useState(false);
  const rename = () => {
    setRenaming(true);
  };
  const remove = () => {
    change.mutate({ deleted: true });
  };
  return (
    <>
      <a className="button" href={serviceAddress(`/api/v1/reports/${report.id}/file?format=html`)}>
        Save as HTML
      </a>
      <a className="button" href={serviceAddress(`/api/v1/reports/${report.id}/file?format=md`)}>
        Save as Markdown
      </a>
      <Menu
        label="More"
        items={[
          { label: "Rename…", onSelect: rename },
          { label: "Delete", danger: true, onSelect: remove },
        ]}
      />
      {isRenaming && (
        <RenameDialog
          title={report.title}
          change={change}
          onClose={() => {
            setRenaming(false);
          }}
        />
      )}
    </>
  );
}

/** Return the ids with those at `at` and after it in each other's place. */
function swapped(ids: number[], at: number): number[] {
  const [one, other] = [ids[at], ids[at + 1]];
  return one === undefined || other === undefined ? ids : ids.with(at, other).with(at + 1, one);
}

function NewText({ reportId }: { reportId: number }) {
  const add = useAddBlocks();
  return (
    <p>
      <button
        className="button"
        disabled={add.isPending}
        onClick={() => {
          add.mutate({ report: { id: reportId }, blocks: [textBlock("New text")] });
        }}
      >
        Add a text
      </button>
      {add.error && <span role="alert"> The text was not stored: {add.error.message}</span>}
    </p>
  );
}

interface RenameDialogProps {
  title: string;
  change: ReturnType<typeof useChangeReport>;
  onClose: () => void;
}

/** The question for a new title of a report. */
function RenameDialog({ title, change, onClose }: RenameDialogProps) {
  const [text, setText] = useState(title);
  return (
    <Dialog
      title="Rename the report"
      error={change.error}
      onCancel={onClose}
      onSubmit={() => {
        if (text.trim()) change.mutate({ title: text.trim() }, { onSuccess: onClose });
      }}
      buttons={
        <button className="button primary" disabled={!text.trim() || change.isPending}>
          Rename
        </button>
      }
    >
      <TextField label="Title" value={text} onChange={setText} />
    </Dialog>
  );
}

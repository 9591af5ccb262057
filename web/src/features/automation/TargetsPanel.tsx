/** The targets of messages, and the newest messages to all of them. */
import { useState } from "react";
import type { NotifyTarget } from "@/shared/api/types";
import { DeleteButton } from "@/shared/dialog/DeleteButton";
import { formatAge } from "@/shared/format/time";
import { pluralize } from "@/shared/format/number";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { useDeliveries, useRemoveTarget, useSendTest, useTargets } from "@/shared/notify/useNotify";
import { DeliveryList } from "@/shared/notify/DeliveryList";
import { classNames } from "@/shared/page/classNames";
import { useNow } from "@/shared/api/clock";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { TargetDialog } from "./TargetDialog";
import styles from "./TargetsPanel.module.css";

export function TargetsPanel() {
  const { data: targets, error } = useTargets();
  const { data: deliveries } = useDeliveries(null);
  const [isOpen, setOpen] = useState(false);
  if (!targets) return <QueryStatus error={error} />;
  return (
    <section className={classNames("panel", styles.targetsPanel)} aria-label="Targets of messages">
      <PanelHeader
        actions={
          <button
            className="button"
            onClick={() => {
              setOpen(true);
            }}
          >
            Add a target…
          </button>
        }
      >
        <h2>Targets of messages</h2>
        <span className="small muted">webhooks, e-mail, Slack and others</span>
      </PanelHeader>
      {targets.length ? (
        <TargetList targets={targets} />
      ) : (
        <p className={classNames("muted", styles.noTarget)}>
          There is none yet. The rules of an experiment or of its owner name the targets of its messages.
        </p>
      )}
      <h3 className={styles.messagesTitle}>Messages</h3>
      <div className={styles.messages}>{deliveries && <DeliveryList deliveries={deliveries} />}</div>
      {isOpen && (
        <TargetDialog
          onClose={() => {
            setOpen(false);
          }}
        />
      )}
    </section>
  );
}

function TargetList({ targets }: { targets: NotifyTarget[] }) {
  const now = useNow(10_000);
  return (
    <ul className={styles.targets} aria-label="Targets">
      {targets.map((target) => (
        <Target key={target.id} target={target} now={now} />
      ))}
    </ul>
  );
}

function Target({ target, now }: { target: NotifyTarget; now: number }) {
  const { id, name, shown, owner, waiting, delivered_at, error } = target;
  const last = delivered_at ? `last message ${formatAge(delivered_at, now)}` : "no message yet";
  return (
    <li>
      <strong>{name}</strong>
      <code>{shown}</code>
      <span className="small muted">
        {[owner, last, waiting ? `${pluralize(waiting, "message")} waiting` : ""].filter(Boolean).join(" · ")}
      </span>
      <TargetActions id={id} name={name} />
      {error && <span className={styles.targetError}>{error}</span>}
    </li>
  );
}

function TargetActions({ id, name }: { id: number; name: string }) {
  const test = useSendTest();
  const remove = useRemoveTarget();
  return (
    <span className={styles.targetActions}>
      <button
        className="button small"
        aria-label={`Send a test to ${name}`}
        disabled={test.isPending}
        onClick={() => {
          test.mutate(id);
        }}
      >
        Send a test
      </button>
      <DeleteButton
        kind="target"
        {...{ name, remove }}
        onConfirm={() => {
          remove.mutate(id);
        }}
      >
        Its rules are deleted too, and messages that wait for it are given up.
      </DeleteButton>
    </span>
  );
}

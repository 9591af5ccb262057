/** Who gets messages about an experiment: its rules, one more, and the newest messages. */
import { useState } from "react";
import { Link } from "wouter";
import type { NotifyEvent, NotifyRule, NotifyTarget } from "@/shared/api/types";
import { Choice } from "@/shared/controls/Choice";
import { Dialog } from "@/shared/dialog/Dialog";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { DeliveryList } from "@/shared/notify/DeliveryList";
import {
  useAddRule,
  useDeliveries,
  useRemoveRule,
  useRules,
  useSendTest,
  useTargets,
} from "@/shared/notify/useNotify";
import styles from "./NotifyDialog.module.css";

interface Props {
  experimentId: number;
  onClose: () => void;
}

export function NotifyDialog({ experimentId, onClose }: Props) {
  const targets = useTargets();
  const rules = useRules(experimentId);
  const deliveries = useDeliveries(experimentId);
  const error = targets.error ?? rules.error ?? deliveries.error;
  const isLoaded = targets.data && rules.data && deliveries.data;
  return (
    <Dialog title="Notifications" cancelLabel="Close" wide onCancel={onClose} buttons={null}>
      {isLoaded ? (
        <div className={styles.notifyContent}>
          <Rules rules={rules.data} targets={targets.data} />
          {targets.data.length > 0 && <RuleForm {...{ experimentId }} targets={targets.data} />}
          <p className="small">
            <Link href="/automation">{targets.data.length ? "All targets" : "Add a target"}</Link>
          </p>
          <h3>Messages</h3>
          <DeliveryList deliveries={deliveries.data} />
        </div>
      ) : (
        <QueryStatus error={error} />
      )}
    </Dialog>
  );
}

function Rules({ rules, targets }: { rules: NotifyRule[]; targets: NotifyTarget[] }) {
  const remove = useRemoveRule();
  const test = useSendTest();
  const failure = remove.error ?? test.error;
  if (!rules.length) {
    const text = targets.length
      ? "No target gets messages yet."
      : "The service has no target for messages yet.";
    return <p className="muted">{text}</p>;
  }
  return (
    <>
      <ul className={styles.rules} aria-label="Rules">
        {rules.map((rule) => (
          <li key={rule.id}>
            <strong>{rule.target}</strong>
            <span>{rule.on.map((event) => EVENTS[event]).join("; ")}</span>
            <RuleActions {...{ rule, remove, test }} />
          </li>
        ))}
      </ul>
      <p role="status" className="small">
        {failure ? `The request failed: ${failure.message}` : test.data && sentText(test.data.target)}
      </p>
    </>
  );
}

interface ActionsProps {
  rule: NotifyRule;
  remove: ReturnType<typeof useRemoveRule>;
  test: ReturnType<typeof useSendTest>;
}

/** A rule of an owner or of all experiments is not removed on the page of one. */
function RuleActions({ rule, remove, test }: ActionsProps) {
  const { id, target, target_id, experiment_id, owner } = rule;
  return (
    <span className={styles.ruleActions}>
      <button
        type="button"
        className="button small"
        aria-label={`Send a test to ${target}`}
        disabled={test.isPending}
        onClick={() => {
          test.mutate(target_id);
        }}
      >
        Send a test
      </button>
      {experiment_id === null ? (
        <span className="small muted">{owner ? `all of ${owner}` : "all experiments"}</span>
      ) : (
        <button
          type="button"
          className="button small"
          aria-label={`Remove the rule of ${target}`}
          disabled={remove.isPending}
          onClick={() => {
            remove.mutate(id);
          }}
        >
          Remove
        </button>
      )}
    </span>
  );
}

function sentText(target: string): string {
  return `A test is on its way to ${target}; the page of targets shows whether it arrived.`;
}

interface RuleFormProps {
  experimentId: number;
  targets: NotifyTarget[];
}

/** One more rule of an experiment: a target, and the events that it gets. */
function RuleForm({ experimentId, targets }: RuleFormProps) {
  const [target, setTarget] = useState(targets[0]?.name ?? "");
  const [events, setEvents] = useState<NotifyEvent[]>(["end", "failure"]);
  const add = useAddRule();
  const toggle = (event: NotifyEvent) => {
    setEvents(events.includes(event) ? events.filter((one) => one !== event) : [...events, event]);
  };
  return (
    <fieldset className={styles.ruleForm}>
      <legend className="small muted">Add a rule</legend>
      <Choice
        label="Target"
        value={target}
        options={targets.map(({ name, shown }) => [name, `${name} (${shown})`])}
        onChange={setTarget}
      />
      <EventBoxes {...{ events, toggle }} />
      <button
        type="button"
        className="button"
        disabled={!events.length || !target || add.isPending}
        onClick={() => {
          add.mutate({
            target,
            on: ALL_EVENTS.filter((event) => events.includes(event)),
            experiment_id: experimentId,
          });
        }}
      >
        Add the rule
      </button>
      {add.error && <p role="alert">The rule was not stored: {add.error.message}</p>}
    </fieldset>
  );
}

interface BoxesProps {
  events: NotifyEvent[];
  toggle: (event: NotifyEvent) => void;
}

function EventBoxes({ events, toggle }: BoxesProps) {
  return (
    <div className={styles.ruleEvents}>
      {ALL_EVENTS.map((event) => (
        <label key={event}>
          <input
            type="checkbox"
            checked={events.includes(event)}
            onChange={() => {
              toggle(event);
            }}
          />{" "}
          {EVENTS[event]}
        </label>
      ))}
    </div>
  );
}

/** The events of notifications, as pages name them. */
const EVENTS: Record<NotifyEvent, string> = {
  end: "end of the experiment",
  failure: "failure of a run",
  preemption: "preemption of a run",
  anomaly: "anomaly: loss not finite, or a stalled rank",
  budget: "rank-hours of the search are used",
};

const ALL_EVENTS = Object.keys(EVENTS) as NotifyEvent[];

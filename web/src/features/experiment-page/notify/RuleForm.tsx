/** One more rule of an experiment: a target, and the events that it gets. */
import { useState } from "react";
import type { NotifyEvent, NotifyTarget } from "@/shared/api/types";
import { Choice } from "@/shared/controls/Choice";
import { useAddRule } from "@/shared/notify/useNotify";
import { ALL_EVENTS, EVENTS } from "@/shared/notify/events";
import styles from "./NotifyDialog.module.css";

interface Props {
  experimentId: number;
  targets: NotifyTarget[];
}

export function RuleForm({ experimentId, targets }: Props) {
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

/** The dialog that stores a target: a webhook with a secret for its receiver, or the address of a service for people. */
import { useState } from "react";
import { ApiError } from "@/shared/api/client";
import { Choice } from "@/shared/controls/Choice";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { type TargetKind, useAddTarget } from "@/shared/notify/useNotify";
import styles from "./TargetDialog.module.css";

const KINDS: [TargetKind, string][] = [
  ["webhook", "webhook, signed"],
  ["apprise", "e-mail, Slack and others (Apprise)"],
];
const HINTS: Record<TargetKind, string> = {
  webhook: "https://hooks.example.org/bigbatch",
  apprise: "slack://TokenA/TokenB/TokenC/#channel, mailtos://user:password@host?to=address",
};

export function TargetDialog({ onClose }: { onClose: () => void }) {
  const [kind, setKind] = useState<TargetKind>("webhook");
  const [name, setName] = useState("");
  const [address, setAddress] = useState("");
  const [secret] = useState(newSecret);
  const add = useAddTarget();
  const issues = add.error instanceof ApiError ? add.error.fields : [];
  const issueOf = (field: string) => issues.find(({ path }) => path === field)?.message;
  return (
    <Dialog
      title="Add a target"
      error={add.error}
      onCancel={onClose}
      onSubmit={() => {
        const target = { name: name.trim(), kind, address: address.trim() };
        add.mutate({ ...target, secret: kind === "webhook" ? secret : null }, { onSuccess: onClose });
      }}
      buttons={
        <button className="button primary" disabled={!name.trim() || !address.trim() || add.isPending}>
          Add
        </button>
      }
    >
      <Choice
        label="Kind"
        value={kind}
        options={KINDS}
        onChange={(value) => {
          setKind(value as TargetKind);
        }}
      />
      <TextField label="Name" value={name} onChange={setName} error={issueOf("name")} hint="one word" />
      <TextField
        label="Address"
        value={address}
        onChange={setAddress}
        error={issueOf("address")}
        hint={HINTS[kind]}
      />
      {kind === "webhook" && <Secret secret={secret} />}
    </Dialog>
  );
}

function Secret({ secret }: { secret: string }) {
  return (
    <p>
      Secret for the receiver, shown this once: <code className={styles.secret}>{secret}</code>
    </p>
  );
}

/** The secret of a webhook, which the browser makes: no answer of the service has it. */
const BYTES = 32;

function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}

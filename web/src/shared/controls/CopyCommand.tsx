/** A command line with a button that copies it. */
import { useState } from "react";
import styles from "./CopyCommand.module.css";

export function CopyCommand({ command }: { command: string }) {
  const [copied, setCopied] = useState(false);
  async function copy() {
    await navigator.clipboard.writeText(command);
    setCopied(true);
  }
  return (
    <div className={styles.command}>
      <code>{command}</code>
      {/* Browsers offer the clipboard to pages over HTTPS and to pages of this machine only. */}
      {"clipboard" in navigator && (
        <button className="button" aria-label={`Copy ${command}`} onClick={() => void copy()}>
          {copied ? "Copied" : "Copy"}
        </button>
      )}
      <span className="visually-hidden" role="status">
        {copied ? "The command is copied" : ""}
      </span>
    </div>
  );
}

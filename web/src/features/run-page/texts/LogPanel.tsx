/** The end of a run's log; the panel follows new lines until the reader scrolls up. */
import { useLayoutEffect, useRef, useState } from "react";
import { errorText } from "@/shared/messages/errorText";
import { classNames } from "@/shared/page/classNames";
import { type Log, useLog } from "../api/useLog";
import styles from "./LogPanel.module.css";
import { TextPanel } from "./TextPanel";

const NEAR_PX = 24;

interface Props {
  runId: number;
  live: boolean;
}

export function LogPanel({ runId, live }: Props) {
  const [follows, setFollows] = useState(true);
  const { log, error, earlier } = useLog(runId, live, follows);
  const box = useRef<HTMLPreElement>(null);

  useLayoutEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log?.text, follows]);

  function onScroll() {
    const shown = box.current;
    if (shown) setFollows(shown.scrollHeight - shown.scrollTop - shown.clientHeight < NEAR_PX);
  }

  function onFollow() {
    setFollows(true);
  }

  const showEarlier = log && log.start > 0 && (
    <LinkButton
      disabled={earlier.isPending}
      onClick={() => {
        setFollows(false);
        earlier.mutate(log);
      }}
    >
      show earlier lines
    </LinkButton>
  );
  const follow = follows ? (
    <span className="muted small">{live ? "follows" : ""}</span>
  ) : (
    <LinkButton onClick={onFollow}>follow</LinkButton>
  );
  return (
    <TextPanel title="Log" link={showEarlier} actions={follow}>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls */}
      <pre ref={box} className={styles.log} tabIndex={0} onScroll={onScroll}>
        <LogText log={log} error={error} />
      </pre>
      <Interruption log={log} error={error} />
    </TextPanel>
  );
}

function LinkButton(props: { disabled?: boolean; onClick: () => void; children: string }) {
  return <button className={classNames("plain small", styles.linkButton)} {...props} />;
}

function LogText({ log, error }: { log: Log | undefined; error: Error | null }) {
  if (log?.text) return wholeLines(log.text, log.start);
  if (error) return <span className={styles.logError}>The log cannot be shown: {errorText(error)}.</span>;
  return <span className="muted">{log ? "The log is empty." : "Loading …"}</span>;
}

/** Below a log: why no new lines arrive. */
function Interruption({ log, error }: { log: Log | undefined; error: Error | null }) {
  if (!log?.text || !error) return null;
  return (
    <p className={classNames("small", styles.logError)}>New lines cannot be shown: {errorText(error)}.</p>
  );
}

/** Return the text without its first line when the text may start within a line. */
function wholeLines(text: string, start: number): string {
  return start > 0 ? text.slice(text.indexOf("\n") + 1) : text;
}

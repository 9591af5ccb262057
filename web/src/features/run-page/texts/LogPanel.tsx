/** The end of a run's log, or its lines that match; the panel follows new lines until the reader scrolls up. */
import { useCallback, useLayoutEffect, useRef, useState } from "react";
import { formatBytes } from "@/shared/format/number";
import { errorText } from "@/shared/api/client";
import { currentAddress } from "@/shared/page/address";
import { classNames } from "@/shared/page/classNames";
import { isSearch, type Log, type LogQuery, logText, useLog } from "./log";
import { LogFilter, queryOf, readLogChoices } from "./LogFilter";
import styles from "./LogPanel.module.css";
import { TextPanel } from "./TextPanel";

const NEAR_PX = 24;

interface Props {
  runId: number;
  live: boolean;
  world: number;
}

export function LogPanel({ runId, live, world }: Props) {
  const [follows, setFollows] = useState(true);
  const [query, onQuery] = useLogQuery(world, setFollows);
  const { log, error, earlier } = useLog(runId, live, follows, query);
  const { box, onScroll } = useFollow(follows, setFollows, log?.text);

  function onEarlier() {
    setFollows(false);
    if (log) earlier.mutate(log);
  }

  const showEarlier = log && log.start > 0 && (
    <LinkButton disabled={earlier.isPending} onClick={onEarlier}>
      {isSearch(query) ? "search earlier lines" : "show earlier lines"}
    </LinkButton>
  );
  return (
    <TextPanel
      title="Log"
      link={showEarlier}
      actions={
        <Follow
          follows={follows}
          live={live}
          onFollow={() => {
            setFollows(true);
          }}
        />
      }
    >
      <LogFilter world={world} onChange={onQuery} />
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls */}
      <pre ref={box} className={styles.log} tabIndex={0} onScroll={onScroll}>
        <LogText {...{ log, error, query, world }} />
      </pre>
      {log && isSearch(query) && <SearchNote log={log} />}
      <Interruption log={log} error={error} />
    </TextPanel>
  );
}

/** Return the query and its change, after which the panel follows. */
function useLogQuery(world: number, setFollows: (follows: boolean) => void) {
  // a link asks for its lines at once
  const [query, setQuery] = useState<LogQuery>(() => queryOf(readLogChoices(currentAddress(), world)));

  const onQuery = useCallback(
    (next: LogQuery) => {
      // unchanged: the reader may have scrolled up meanwhile
      if (JSON.stringify(query) === JSON.stringify(next)) return;
      setQuery(next);
      setFollows(true);
    },
    [query, setFollows],
  );

  return [query, onQuery] as const;
}

/** Scroll to the newest line while the panel follows; the panel follows while its end is in view. */
function useFollow(follows: boolean, setFollows: (follows: boolean) => void, text: string | undefined) {
  const box = useRef<HTMLPreElement>(null);

  useLayoutEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, follows]);

  function onScroll() {
    const shown = box.current;
    if (shown) setFollows(shown.scrollHeight - shown.scrollTop - shown.clientHeight < NEAR_PX);
  }

  return { box, onScroll };
}

function Follow({ follows, live, onFollow }: { follows: boolean; live: boolean; onFollow: () => void }) {
  if (follows) return <span className="muted small">{live ? "follows" : ""}</span>;
  return <LinkButton onClick={onFollow}>follow</LinkButton>;
}

function LinkButton(props: { disabled?: boolean; onClick: () => void; children: string }) {
  return <button className={classNames("plain small", styles.linkButton)} {...props} />;
}

interface TextProps {
  log: Log | undefined;
  error: Error | null;
  query: LogQuery;
  world: number;
}

function LogText({ log, error, query, world }: TextProps) {
  if (log?.text)
    return isSearch(query) ? log.text : logText(log.text, { isCut: log.start > 0, hasLabels: world > 1 });
  if (error) return <span className={styles.logError}>The log cannot be shown: {errorText(error)}.</span>;
  return <span className="muted">{log ? emptyText(log, query) : "Loading …"}</span>;
}

/** Return why no line is shown. */
function emptyText(log: Log, query: LogQuery): string {
  if (!log.size || !isSearch(query)) return "The log is empty.";
  if (query.rank !== undefined && !log.namesRanks) return "The lines of this log do not name their rank.";
  return "No line matches.";
}

/** Below a search that has not read the whole log: how much it has read. */
function SearchNote({ log }: { log: Log }) {
  if (log.start === 0) return null;
  return (
    <p className="small muted" role="status">
      The search has read the last {formatBytes(log.size - log.start)} of {formatBytes(log.size)}.
    </p>
  );
}

/** Below a log: why no new lines arrive. */
function Interruption({ log, error }: { log: Log | undefined; error: Error | null }) {
  if (!log?.text || !error) return null;
  return (
    <p className={classNames("small", styles.logError)}>New lines cannot be shown: {errorText(error)}.</p>
  );
}

/** The end of the run's log; it follows until the reader scrolls up. */
import { useLayoutEffect, useRef, useState } from "react";
import { useLog } from "@/features/run-page/api/useLog";

const NEAR_PX = 24;

interface Props {
  runId: number;
  live: boolean;
}

export function LogPanel({ runId, live }: Props) {
  const [follows, setFollows] = useState(true);
  const { log, earlier } = useLog(runId, live, follows);
  const box = useRef<HTMLPreElement>(null);

  useLayoutEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log?.text, follows]);

  function onScroll() {
    const shown = box.current;
    if (shown) setFollows(shown.scrollHeight - shown.scrollTop - shown.clientHeight < NEAR_PX);
  }

  return (
    <section className="panel text-panel log-panel" aria-label="Log">
      <header className="chart-head">
        <h2>Log</h2>
        {log && log.start > 0 && (
          <button
            className="plain link small"
            disabled={earlier.isPending}
            onClick={() => {
              setFollows(false);
              earlier.mutate(log);
            }}
          >
            show earlier lines
          </button>
        )}
        <div className="switches small">
          {follows ? (
            <span className="muted">{live ? "follows" : ""}</span>
          ) : (
            <button
              className="plain link"
              onClick={() => {
                setFollows(true);
              }}
            >
              follow
            </button>
          )}
        </div>
      </header>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard */}
      <pre ref={box} className="text log" tabIndex={0} onScroll={onScroll}>
        {log?.text ? (
          wholeLines(log.text, log.start)
        ) : (
          <span className="muted">Nothing has been printed yet.</span>
        )}
      </pre>
    </section>
  );
}

/** A tail may begin within a line, which is left out. */
function wholeLines(text: string, start: number): string {
  return start > 0 ? text.slice(text.indexOf("\n") + 1) : text;
}

/** Follow what a page shows: a change is on the page within a moment, and nothing is polled meanwhile. */
import { type Query, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { ApiError } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { Refresher } from "./refresher";
import { follow, hasStream, type LogSize, type Scope } from "./stream";
import { intervalOf, isReported } from "./touched";

const LIST_MS = 1000; // between two requests of what a list shows
const RETRY_MS = 5000; // a page without a stream retries by its next poll

/** Follow one experiment, one run, or without ids everything. */
export function useLive({ experiment, run }: Scope): void {
  const cache = useQueryClient();
  useEffect(() => {
    const refresher = new Refresher(cache);
    const least = experiment === undefined && run === undefined ? LIST_MS : 0;
    const scope = {
      ...(experiment === undefined ? {} : { experiment }),
      ...(run === undefined ? {} : { run }),
    };
    const leave = follow(scope, {
      onChange: (items) => {
        refresher.refresh((query) => {
          const interval = intervalOf(query.queryKey, items);
          return interval === null ? null : Math.max(interval, least);
        });
      },
      onLog: (log) => {
        refresher.refresh((query) =>
          isLog(query.queryHash, log) && !hasLog(query.state.data, log) ? 0 : null,
        );
      },
      onReload: () => {
        refresher.refresh((query) => (isReported(query.queryKey) ? 0 : null));
      },
    });
    const retries = setInterval(() => {
      if (hasStream()) refresher.refresh((query) => (hasFailed(query.state) ? 0 : null));
    }, RETRY_MS);
    return () => {
      clearInterval(retries);
      leave();
      refresher.stop();
    };
  }, [cache, experiment, run]);
}

/** Return whether a request got no answer; what the service refuses, it refuses again. */
function hasFailed({ status, error }: Query["state"]): boolean {
  return status === "error" && !(error instanceof ApiError && error.status < 500);
}

/** Return whether a query has the log of a run, or a search in it. */
function isLog(hash: string, { run_id }: LogSize): boolean {
  const whole = JSON.stringify(keys.runLog(run_id));
  return hash === whole || hash.startsWith(`${whole.slice(0, -1)},`);
}

function hasLog(data: unknown, { size }: LogSize): boolean {
  return (data as { next?: number } | undefined)?.next === size;
}

/** Ask for changed data again: each query at its own pace, and never twice at once. */
import type { Query, QueryClient } from "@tanstack/react-query";
import { reacting } from "@/shared/api/marks";
import { isOfChanges } from "./touched";

const ALIGNED_MS = 1000; // slower queries ask at moments that all pages have in common, and so share answers

interface Plan {
  begun: number; // the moment of the last request
  at: number; // the moment of the next one
  timer: ReturnType<typeof setTimeout> | undefined;
  isBusy: boolean;
  next: number | null; // what changed during the request: the interval until the next one
}

export class Refresher {
  private readonly plans = new Map<string, Plan>();

  constructor(private readonly cache: QueryClient) {}

  /** Ask for the data of each visible query that `intervalOf` gives an interval. */
  refresh(intervalOf: (query: Query) => number | null): void {
    for (const query of this.cache.getQueryCache().findAll({ type: "active" })) {
      const interval = intervalOf(query);
      if (interval !== null) this.plan(query, interval);
    }
  }

  /** Forget all requests that have not begun. */
  stop(): void {
    this.plans.forEach(({ timer }) => {
      clearTimeout(timer);
    });
    this.plans.clear();
  }

  private plan(query: Query, interval: number): void {
    const plan = this.plans.get(query.queryHash) ?? {
      begun: -Infinity,
      at: Infinity,
      timer: undefined,
      isBusy: false,
      next: null,
    };
    this.plans.set(query.queryHash, plan);
    if (plan.isBusy) {
      plan.next = Math.min(plan.next ?? Infinity, interval);
      return;
    }
    const at = Math.max(Date.now(), aligned(plan.begun + interval, interval));
    if (plan.timer !== undefined && plan.at <= at) return;
    clearTimeout(plan.timer);
    plan.at = at;
    plan.timer = setTimeout(() => void this.request(query, plan), at - Date.now());
  }

  private async request(query: Query, plan: Plan): Promise<void> {
    Object.assign(plan, { begun: Date.now(), timer: undefined, isBusy: true, next: null });
    const ask = () =>
      (isOfChanges(query.queryKey) ? reacting : immediately)(() =>
        this.cache.refetchQueries(
          { queryKey: query.queryKey, exact: true, type: "active" },
          { cancelRefetch: false },
        ),
      );
    // a request that is under way began before the change
    if (query.state.fetchStatus === "fetching") await ask();
    await ask();
    plan.isBusy = false;
    if (plan.next !== null && this.plans.get(query.queryHash) === plan) this.plan(query, plan.next);
  }
}

/** Return the nearest moment that is a multiple of a slow query's interval. */
function aligned(at: number, interval: number): number {
  return interval < ALIGNED_MS ? at : Math.round(at / interval) * interval;
}

function immediately<T>(begin: () => T): T {
  return begin();
}

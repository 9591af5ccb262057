/** GET /events: the one stream of the page, which reports what changed. Without it the page polls. */
import { useSyncExternalStore } from "react";
import { setMark } from "@/shared/api/marks";
import type { components } from "@/shared/api/schema";
import { serviceAddress } from "@/shared/page/root";

export type ChangedItems = components["schemas"]["ChangedItems"];
export type LogSize = components["schemas"]["LogSize"];

/** What a page follows; without ids everything. */
export interface Scope {
  experiment?: number;
  run?: number;
}

export interface Handlers {
  onChange: (items: ChangedItems) => void;
  onLog: (log: LogSize) => void;
  onReload: () => void; // anything may have changed
}

const AGAIN_MS = 15_000; // after the service refused a stream
const BROKEN_MS = 30_000; // the service sends an event every 10 s

let isLive = false; // events arrive, or did until the tab was hidden
const listeners = new Set<() => void>();

/** Return whether the service reports changes, so that nothing has to be polled. */
export function useIsLive(): boolean {
  return useSyncExternalStore(subscribe, () => isLive);
}

/** Return the same outside of a component. */
export function hasStream(): boolean {
  return isLive;
}

/** Follow changes until the returned function is called; a hidden tab has no stream, and catches up when it is shown. */
export function follow(scope: Scope, handlers: Handlers): () => void {
  if (typeof EventSource === "undefined") return () => undefined;
  const stream = new Stream(scope, handlers);
  const onVisibility = () => {
    if (document.hidden) stream.pause();
    else stream.open();
  };
  document.addEventListener("visibilitychange", onVisibility);
  onVisibility();
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    stream.pause();
    setLive(false);
  };
}

class Stream {
  private source: EventSource | null = null;
  private lastId = ""; // of the newest event: the next stream begins behind it
  private again: ReturnType<typeof setTimeout> | undefined;
  private watchdog: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly scope: Scope,
    private readonly handlers: Handlers,
  ) {}

  open(): void {
    this.pause();
    const source = new EventSource(addressOf(this.scope, this.lastId));
    this.source = source;
    const { onChange, onLog, onReload } = this.handlers;
    this.on(source, "change", (data) => {
      setMark((data as ChangedItems).mark);
      onChange(data as ChangedItems);
    });
    this.on(source, "log", (data) => {
      onLog(data as LogSize);
    });
    this.on(source, "reload", () => {
      setMark(""); // the newest mark is older than what this event is about
      onReload();
    });
    this.on(source, "beat", () => undefined);
    source.onerror = () => {
      setLive(false);
      // after a lost connection the browser connects again by itself; it gives up when the service refuses
      if (source.readyState === EventSource.CLOSED) this.openLater();
    };
  }

  pause(): void {
    clearTimeout(this.again);
    clearTimeout(this.watchdog);
    this.source?.close();
    this.source = null;
  }

  private on(source: EventSource, name: string, handle: (data: unknown) => void): void {
    source.addEventListener(name, (event: MessageEvent<string>) => {
      this.lastId = event.lastEventId || this.lastId;
      setLive(true); // not before: a proxy may hold all events back
      this.expectMore();
      handle(JSON.parse(event.data));
    });
  }

  /** Open another stream when nothing arrives for long: a connection may break without an error. */
  private expectMore(): void {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => {
      setLive(false);
      this.open();
    }, BROKEN_MS);
  }

  private openLater(): void {
    this.pause();
    this.again = setTimeout(() => {
      this.open();
    }, AGAIN_MS);
  }
}

function addressOf({ experiment, run }: Scope, after: string): string {
  const query = new URLSearchParams();
  if (experiment !== undefined) query.set("experiment", String(experiment));
  if (run !== undefined) query.set("run", String(run));
  if (after) query.set("after", after);
  return serviceAddress(`/api/v1/events?${query.toString()}`);
}

function setLive(now: boolean): void {
  if (now === isLive) return;
  isLive = now;
  listeners.forEach((listener) => {
    listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

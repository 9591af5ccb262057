/** A fake EventSource: tests send the events of the service, cut the connection or refuse it. */
import { act } from "@testing-library/react";
import { vi } from "vitest";
import type { ChangedItems } from "@/shared/live/stream";

export const sources: FakeEventSource[] = [];

export class FakeEventSource extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  readyState = FakeEventSource.CONNECTING;
  onerror: (() => void) | null = null;

  constructor(readonly url: string) {
    super();
    sources.push(this);
  }

  close(): void {
    this.readyState = FakeEventSource.CLOSED;
  }

  send(kind: string, data: unknown, id = ""): void {
    if (this.readyState === FakeEventSource.CLOSED) throw new Error("the page has closed this stream");
    this.readyState = FakeEventSource.OPEN;
    act(() => {
      this.dispatchEvent(new MessageEvent(kind, { data: JSON.stringify(data), lastEventId: id }));
    });
  }

  /** The connection breaks, and the browser connects again; with `refused` it does not. */
  fail({ refused = false } = {}): void {
    this.readyState = refused ? FakeEventSource.CLOSED : FakeEventSource.CONNECTING;
    act(() => {
      this.onerror?.();
    });
  }
}

export function stubEventSource(): void {
  sources.length = 0;
  vi.stubGlobal("EventSource", FakeEventSource);
}

/** Return the stream that the page opened last. */
export function lastSource(): FakeEventSource {
  const source = sources.at(-1);
  if (!source) throw new Error("the page has opened no stream");
  return source;
}

export function aChange(
  run: Partial<ChangedItems["runs"][number]> = {},
  experiments: number[] = [],
  mark = "5f.1",
): ChangedItems {
  const changed = {
    id: 7,
    experiment_id: 3,
    state: "running" as const,
    attempt: 1,
    step: 4,
    has_points: true,
    has_details: false,
  };
  return { runs: [{ ...changed, ...run }], experiments, mark };
}

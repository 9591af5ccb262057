import { afterEach, expect, test, vi } from "vitest";
import { loadWhenIdle, reloadWithoutCode } from "@/app/code";

afterEach(() => {
  vi.unstubAllGlobals();
  sessionStorage.clear();
});

test("code that cannot be loaded in advance is no error", async () => {
  const load = vi.fn(() => Promise.reject(new TypeError("no network")));
  vi.stubGlobal("requestIdleCallback", (begin: () => void) => {
    begin();
  });
  vi.useFakeTimers();
  loadWhenIdle(load);
  expect(load).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(load).toHaveBeenCalledOnce();
  vi.useRealTimers();
});

test("code that is gone while it loads in advance reloads nothing", async () => {
  const reload = vi.fn();
  vi.stubGlobal("location", { reload });
  vi.stubGlobal("requestIdleCallback", (begin: () => void) => {
    begin();
  });
  reloadWithoutCode();
  vi.useFakeTimers();
  loadWhenIdle(() => {
    window.dispatchEvent(new Event("vite:preloadError", { cancelable: true }));
    return Promise.reject(new TypeError("no network"));
  });
  await vi.advanceTimersByTimeAsync(5_000);
  vi.useRealTimers();
  expect(reload).not.toHaveBeenCalled();
});

test("a page whose code is gone is reloaded once, and not again at once", () => {
  const reload = vi.fn();
  vi.stubGlobal("location", { reload });
  reloadWithoutCode();
  const gone = () => {
    const event = new Event("vite:preloadError", { cancelable: true });
    window.dispatchEvent(event);
    return event.defaultPrevented;
  };
  expect(gone()).toBe(true);
  expect(gone()).toBe(false); // the error is shown in place of a page that reloads for ever
  expect(reload).toHaveBeenCalledOnce();
});

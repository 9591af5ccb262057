/** The parts of a browser that jsdom lacks, and a fake chart that records its view. */
import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterEach, vi } from "vitest";
import { charts } from "./testing/fakeChart";

configure({ asyncUtilTimeout: 20_000 }); // a busy machine takes several times as long as an idle one

vi.mock("@/shared/plot/chart", async () => ({ Chart: (await import("./testing/fakeChart")).FakeChart }));

// jsdom has no layout: a table that draws the rows in view alone is as high as a page
Object.defineProperty(Element.prototype, "clientHeight", { get: () => 800, configurable: true });
const nothing = () => undefined;
vi.stubGlobal("matchMedia", () => ({
  matches: false,
  addEventListener: nothing,
  addListener: nothing,
  removeListener: nothing,
}));
// the editor measures its text
Range.prototype.getClientRects = () => [] as unknown as DOMRectList;
vi.stubGlobal("scrollTo", () => undefined);
Element.prototype.scrollIntoView = nothing;
vi.stubGlobal(
  "ResizeObserver",
  class {
    observe = () => undefined;
    unobserve = () => undefined;
    disconnect = () => undefined;
  },
);
// all of a page is in view
vi.stubGlobal(
  "IntersectionObserver",
  class {
    constructor(private readonly onSeen: (entries: { isIntersecting: boolean }[]) => void) {}
    observe = () => {
      this.onSeen([{ isIntersecting: true }]);
    };
    disconnect = () => undefined;
  },
);
Object.defineProperty(document, "fonts", { value: { ready: Promise.resolve() }, configurable: true });
HTMLDialogElement.prototype.showModal = function () {
  this.open = true;
};
HTMLDialogElement.prototype.close = function () {
  this.open = false;
};

afterEach(() => {
  cleanup();
  charts.clear();
});

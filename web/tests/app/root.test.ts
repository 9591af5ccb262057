import { afterEach, expect, test, vi } from "vitest";

async function below(root: string, path: string) {
  document.documentElement.dataset.root = root;
  const replace = vi.fn();
  vi.stubGlobal("location", { ...addressOf(path), replace });
  vi.resetModules();
  return { ...(await import("@/shared/page/root")), replace };
}

function addressOf(path: string) {
  const { pathname, search, hash } = new URL(path, "http://localhost");
  return { pathname, search, hash };
}

afterEach(() => {
  delete document.documentElement.dataset.root;
  vi.unstubAllGlobals();
  vi.resetModules();
});

test.each([
  ["", "/runs/7", "/runs/7"],
  ["/bigbatch", "/bigbatch/runs/7", "/runs/7"],
  ["/bigbatch", "/bigbatch", "/"],
  ["/bigbatch", "/bigbatch2/runs", "/"],
])("below '%s' the page of %s is %s", async (root, path, page) => {
  expect((await below(root, path)).pagePath()).toBe(page);
});

test("the service's own addresses begin with the root", async () => {
  expect((await below("/bigbatch", "/bigbatch/")).serviceAddress("/sign-out")).toBe("/bigbatch/sign-out");
});

test("a page that was opened past the proxy goes below the root, and no other one", async () => {
  const past = await below("/bigbatch", "/runs?q=a#b");
  past.openBelowRoot();
  expect(past.replace).toHaveBeenCalledExactlyOnceWith("/bigbatch/runs?q=a#b");
  for (const [root, path] of [
    ["/bigbatch", "/bigbatch/runs"],
    ["", "/runs"],
  ] as const) {
    const inside = await below(root, path);
    inside.openBelowRoot();
    expect(inside.replace).not.toHaveBeenCalled();
  }
});

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, test } from "vitest";
import { useRunTable } from "@/shared/run-table/useRunTable";
import { aRun, Service } from "../testing/service";

const ASKED = { where: "", q: "", sort: "", columns: ["lr", "batch"], archived: false, skipUnknown: true };

test("a cell is read by the columns of its own answer: a later one may have a column more", async () => {
  new Service({
    "GET /runs/table": (url) => {
      const isFirst = url.searchParams.get("offset") === "0";
      const names = isFirst ? ["batch"] : ["lr", "batch"];
      const cells = isFirst ? [64] : [0.1, 128];
      return {
        total: 200,
        offset: isFirst ? 0 : 100,
        columns: names.map((name) => ({ name, kind: "any", metric: null })),
        rows: Array.from({ length: 100 }, () => ({ ...aRun(), cells })),
      };
    },
  });
  const cache = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={cache}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(() => useRunTable(ASKED, 60, 140, false), { wrapper });
  await waitFor(() => {
    expect(result.current.cellAt(120, "batch")).toBe(128);
  });
  expect(result.current.cellAt(80, "batch")).toBe(64);
  expect(result.current.cellAt(80, "lr")).toBeNull();
  expect(result.current.cellAt(120, "lr")).toBe(0.1);
});

import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { openPage } from "../testing/openPage";
import { Service } from "../testing/service";

test("a scheduler that does not work has a banner with the reason, and no other error", async () => {
  const service = new Service({ "GET /clusters": () => [] });
  service.refused["GET /ready"] = {
    ...{ status: 503, ready: false, database: "ok", scheduler_seen_at: null },
    scheduler: "the tick poll last succeeded 130 s ago",
  } as never;
  openPage("/clusters");
  expect(
    await screen.findByText("The scheduler is late: the tick poll last succeeded 130 s ago.", {
      exact: false,
    }),
  ).toBeVisible();
  expect(screen.queryByText("The service reports an error", { exact: false })).toBeNull();
});

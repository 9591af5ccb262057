import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import type { SavedView } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { Service, tableOf } from "../testing/service";

let views: SavedView[] = [];

beforeEach(() => {
  views = [aView(1, "failed", "where=state+%3D+failed")];
});

function aView(id: number, name: string, query: string): SavedView {
  const at = "2026-01-05T12:00:00Z";
  return { id, name, page: "runs", query, owner: "ada", updated_at: at, deleted_at: null };
}

function aService(): Service {
  const changed = (change: Partial<SavedView>) => {
    views = views.map((view) => ({ ...view, ...change }));
    return views[0];
  };
  const service: Service = new Service({
    "GET /runs/names": () => ({ names: [] }),
    "GET /runs/table": tableOf([]),
    "GET /views": () => ({ views: views.filter(({ deleted_at }) => !deleted_at) }),
    "GET /views/1": () => views[0],
    "POST /views": () => {
      views = [...views, aView(2, "new", "sort=id")];
      return views[1];
    },
    "PATCH /views/1": () => {
      const body = service.bodies.at(-1) ?? "";
      if (body.includes('"deleted":true')) return changed({ deleted_at: "2026-01-05T13:00:00Z" });
      return changed({ deleted_at: null, ...(body.includes('"name":"other"') && { name: "other" }) });
    },
  });
  return service;
}

test("what the page shows is saved by a name, and listed as a link", async () => {
  const service = aService();
  openPage("/runs?sort=id");
  await userEvent.click(await screen.findByRole("button", { name: "Views" }));
  await userEvent.type(
    await screen.findByRole("textbox", { name: "Save what the page shows as" }),
    "new{Enter}",
  );
  expect(await screen.findByRole("link", { name: "new" })).toHaveAttribute("href", "/runs?sort=id");
  expect(service.bodies).toContain('POST /views {"name":"new","page":"runs","query":"sort=id"}');
});

test("a view is renamed, deleted, and the deletion is undone", async () => {
  aService();
  openPage("/runs");
  await userEvent.click(await screen.findByRole("button", { name: "Views" }));
  await userEvent.click(await screen.findByRole("button", { name: "Rename the view failed" }));
  const field = screen.getByRole("textbox", { name: "New name of failed" });
  await userEvent.clear(field);
  await userEvent.type(field, "other{Enter}");
  await userEvent.click(await screen.findByRole("button", { name: "Delete the view other" }));
  expect(await screen.findByText(/The view other is deleted/)).toBeVisible();
  await waitFor(() => {
    expect(screen.queryByRole("link", { name: "other" })).toBeNull();
  });
  await userEvent.click(screen.getByRole("button", { name: "Undo" }));
  expect(await screen.findByRole("link", { name: "other" })).toBeVisible();
});

test("the lasting address of a view leads to what it shows", async () => {
  aService();
  openPage("/views/1");
  await waitFor(() => {
    expect(window.location.pathname + window.location.search).toBe("/runs?where=state+%3D+failed");
  });
  expect(await screen.findByRole("button", { name: "View: failed" })).toBeVisible();
});

test("the address of a deleted view offers to undo the deletion", async () => {
  aService();
  views = views.map((view) => ({ ...view, deleted_at: "2026-01-05T13:00:00Z" }));
  openPage("/views/1");
  await userEvent.click(await screen.findByRole("button", { name: "Undo the deletion" }));
  await waitFor(() => {
    expect(window.location.pathname).toBe("/runs");
  });
});

import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { openPage } from "../testing/openPage";
import { Service, tableOf } from "../testing/service";

function aService() {
  return new Service({
    "GET /runs/names": () => ({ names: [] }),
    "GET /runs/table": tableOf([]),
    "GET /views": () => ({ views: [] }),
    "GET /clusters": () => [],
    "GET /experiments": (url) => ({
      items: url.searchParams.get("q") === "torus" ? [{ id: 12, name: "torus against ring" }] : [],
      next: null,
    }),
  });
}

async function openPalette() {
  aService();
  openPage("/runs");
  await screen.findByRole("heading", { name: "Runs" });
  await userEvent.keyboard("{Control>}k{/Control}");
  const field = await screen.findByRole("combobox", { name: /^Find a page/ });
  field.focus(); // jsdom has no modal dialogs, which focus their first field
  return field;
}

test("Ctrl-K finds a page by the keyboard alone, and the field names the chosen entry", async () => {
  const field = await openPalette();
  await userEvent.keyboard("coll");
  const option = screen.getByRole("option", { name: /Collectives/ });
  expect(option).toHaveAttribute("aria-selected", "true");
  expect(field).toHaveAttribute("aria-activedescendant", option.id);
  await userEvent.keyboard("{Enter}");
  await waitFor(() => {
    expect(window.location.pathname).toBe("/collectives");
  });
  expect(screen.queryByRole("combobox", { name: /^Find a page/ })).toBeNull();
});

test.each([
  ["Plan", "/plan"],
  ["Deleted", "/deleted"],
])("the palette has the page %s", async (name, path) => {
  const field = await openPalette();
  await userEvent.type(field, name);
  expect(screen.getByRole("option", { name: new RegExp(name) })).toHaveAttribute("aria-selected", "true");
  await userEvent.keyboard("{Enter}");
  await waitFor(() => {
    expect(window.location.pathname).toBe(path);
  });
});

test("the arrow keys go round, and a number is the id of a run", async () => {
  await openPalette();
  await userEvent.keyboard("42");
  const options = within(screen.getByRole("listbox", { name: "Found" })).getAllByRole("option");
  expect(options.map((option) => option.textContent)).toEqual(["run 42run", "experiment 42experiment"]);
  await userEvent.keyboard("{ArrowUp}");
  expect(options[1]).toHaveAttribute("aria-selected", "true");
  await userEvent.keyboard("{ArrowDown}{Enter}");
  await waitFor(() => {
    expect(window.location.pathname).toBe("/runs/42");
  });
});

test("experiments are found by their names at the service", async () => {
  await openPalette();
  await userEvent.keyboard("torus");
  await userEvent.click(await screen.findByRole("option", { name: /torus against ring/ }));
  await waitFor(() => {
    expect(window.location.pathname).toBe("/experiments/12");
  });
});

test("Escape closes the palette and returns the focus; ? shows the keys, but not while somebody types", async () => {
  aService();
  openPage("/runs");
  const opener = await screen.findByRole("button", { name: "Commands (Ctrl K)" });
  await userEvent.click(opener);
  const field = await screen.findByRole("combobox", { name: /^Find a page/ });
  await userEvent.type(field, "?");
  expect(screen.queryByRole("heading", { name: "Keys" })).toBeNull();
  screen.getByRole("dialog", { name: "Commands" }).dispatchEvent(new Event("cancel", { cancelable: true }));
  await waitFor(() => {
    expect(opener).toHaveFocus();
  });
  await userEvent.keyboard("?");
  expect(await screen.findByRole("heading", { name: "Keys" })).toBeVisible();
});

import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { Markdown } from "@/shared/labels/Markdown";
import type { ExperimentDetail } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { anExperiment, Service } from "../testing/service";

function labeled(change: Partial<ExperimentDetail> = {}) {
  const labels = { owner: "ada", project: "vision", tags: ["baseline", "lars"], origin: 2 };
  return new Service({
    "GET /experiments": () => ({ items: [anExperiment({ ...labels, ...change })], next: 12 }),
    "GET /experiments/3": () => anExperiment({ ...labels, ...change }),
    "GET /experiments/3/runs": () => ({ items: [], next: null }),
    "GET /experiments/3/curves": () => ({ name: "", curves: [] }),
    "GET /clusters": () => [],
    "PATCH /experiments/3": () => anExperiment(),
  });
}

test("the page of an experiment shows owner, project, origin and tags, which lead to others like it", async () => {
  labeled();
  openPage("/experiments/3");
  expect(await screen.findByRole("link", { name: "ada" })).toHaveAttribute("href", "/?owner=ada");
  expect(screen.getByRole("link", { name: "vision" })).toHaveAttribute("href", "/?project=vision");
  expect(screen.getByRole("link", { name: "experiment 2" })).toHaveAttribute("href", "/experiments/2");
  expect(screen.getByRole("link", { name: "lars" })).toHaveAttribute("href", "/?tag=lars");
});

test("tags are added and removed", async () => {
  const service = labeled();
  openPage("/experiments/3");
  await userEvent.click(await screen.findByRole("button", { name: "Remove the tag lars" }));
  await userEvent.click(screen.getByRole("button", { name: "add tag" }));
  await userEvent.type(screen.getByRole("textbox", { name: "New tag" }), " new {Enter}");
  await waitFor(() => {
    expect(service.bodies).toEqual([
      'PATCH /experiments/3 {"remove_tags":["lars"]}',
      'PATCH /experiments/3 {"add_tags":["new"]}',
    ]);
  });
});

test("name, owner and project are edited, and an invalid one is named at its field", async () => {
  const service = labeled();
  const errors = [{ path: "project", message: "at most 100 characters" }];
  service.refused["PATCH /experiments/3"] = { status: 422, detail: "the change is not valid", errors };
  openPage("/experiments/3");
  await userEvent.click(await screen.findByRole("button", { name: "More" }));
  await userEvent.click(screen.getByRole("menuitem", { name: "Edit name and labels…" }));
  await userEvent.type(screen.getByLabelText("Name"), ", again");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => {
    expect(screen.getByLabelText("Project")).toHaveAccessibleDescription("at most 100 characters");
  });
  delete service.refused["PATCH /experiments/3"];
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => {
    expect(screen.queryByRole("dialog")).toBeNull();
  });
  const sent = { name: "a grid, again", description: "", owner: "ada", project: "vision" };
  expect(service.bodies.at(-1)).toBe(`PATCH /experiments/3 ${JSON.stringify(sent)}`);
});

test("notes are shown as Markdown and edited as text", async () => {
  const service = labeled({ notes: "**so** far" });
  openPage("/experiments/3");
  const notes = within(await screen.findByRole("region", { name: "Notes" }));
  expect((await notes.findByText("so")).tagName).toBe("STRONG");
  await userEvent.click(notes.getByRole("button", { name: "edit" }));
  await userEvent.type(notes.getByRole("textbox"), " and more");
  await userEvent.click(notes.getByRole("button", { name: "Save" }));
  await waitFor(() => {
    expect(service.bodies).toEqual(['PATCH /experiments/3 {"notes":"**so** far and more"}']);
  });
});

test("Markdown shows HTML as text, and links that run no script", async () => {
  const text = [
    "# Title",
    '<img src=x onerror="alert(1)"> and <b>html</b>',
    "",
    "- one `code`",
    "- [paper](https://example.org/a) and [bad](javascript:alert(1))",
    "",
    "1. first",
    "",
    "```",
    "**no bold**",
    "```",
    "https://example.org/b, *then* [run 7](/runs/7), ![a picture](https://example.org/c.png), ~10 to ~20",
  ].join("\n");
  const { container } = render(<Markdown text={text} />);
  expect(await screen.findByRole("heading", { name: "Title" })).toBeVisible();
  expect(container.querySelectorAll("img, b, script, del")).toHaveLength(0);
  expect(screen.getByText('<img src=x onerror="alert(1)"> and <b>html</b>')).toBeVisible();
  expect(screen.getAllByRole("link").map((link) => link.getAttribute("href"))).toEqual([
    "https://example.org/a",
    "https://example.org/b",
    "/runs/7",
    "https://example.org/c.png",
  ]);
  expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual([
    "one code",
    "paper and bad",
    "first",
  ]);
  expect(screen.getByText("**no bold**").tagName).toBe("CODE");
  expect(screen.getByText("then").tagName).toBe("EM");
});

test("the address of the list filters it, and each filter can be removed", async () => {
  const service = labeled();
  openPage("/?tag=lars&owner=ada&q=grid&archived=true");
  await screen.findByRole("link", { name: "a grid" });
  expect(service.requests).toContain("GET /experiments?q=grid&tag=lars&owner=ada&archived=true&limit=20");
  expect(screen.getByRole("searchbox")).toHaveValue("grid");
  expect(screen.getByRole("switch", { name: "archive" })).toBeChecked();
  expect(screen.getByRole("link", { name: "Older" })).toHaveAttribute(
    "href",
    "/?q=grid&tag=lars&owner=ada&archived=true&before=12",
  );
  await userEvent.click(screen.getByRole("link", { name: "Remove the filter tag lars" }));
  await userEvent.click(screen.getByRole("switch", { name: "archive" }));
  await waitFor(() => {
    expect(window.location.search).toBe("?q=grid&owner=ada");
  });
});

test("what is typed into the search box becomes the address, and a label of a row adds itself", async () => {
  const service = labeled();
  openPage("/");
  await userEvent.type(await screen.findByRole("searchbox"), "lars at");
  await waitFor(() => {
    expect(service.requests).toContain("GET /experiments?q=lars at&limit=20");
  });
  const row = within(screen.getByRole("list", { name: "Labels of a grid" }));
  await userEvent.click(row.getByRole("link", { name: "vision" }));
  await waitFor(() => {
    expect(window.location.search).toBe("?q=lars+at&project=vision");
  });
});

test("a filter that no experiment matches leads back to all", async () => {
  const service = labeled();
  service.answers["GET /experiments"] = () => ({ items: [], next: null });
  openPage("/?q=nothing");
  expect(await screen.findByText("No experiment matches.")).toBeVisible();
  expect(screen.getByRole("link", { name: "All experiments" })).toHaveAttribute("href", "/");
});

import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { Delivery, NotifyRule, NotifyTarget } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { anExperiment, Service } from "../testing/service";

const AT = "2026-01-05T12:00:00Z";

function aTarget(change: Partial<NotifyTarget> = {}): NotifyTarget {
  const shown = "https://hooks.example.org/...";
  return {
    id: 1,
    name: "hook",
    kind: "webhook",
    shown,
    owner: "ada",
    waiting: 0,
    delivered_at: AT,
    error: null,
    ...change,
  };
}

function aDelivery(change: Partial<Delivery> = {}): Delivery {
  return {
    id: 1,
    key: "msg_1",
    target: "hook",
    experiment_id: 3,
    event: "failure",
    title: "Run 7 failed",
    status: "delivered",
    attempts: 1,
    created_at: AT,
    next_at: null,
    ended_at: AT,
    error: null,
    ...change,
  };
}

function aService(rules: NotifyRule[] = [], deliveries: Delivery[] = [], targets = [aTarget()]) {
  const lists = { targets, rules };
  const service: Service = new Service({
    "GET /experiments/3": () => anExperiment(),
    "GET /experiments/3/runs": () => ({ items: [], next: null }),
    "GET /schedules": () => ({ schedules: [] }),
    "GET /notifications/targets": () => ({ targets: lists.targets }),
    "GET /notifications/rules": () => ({ rules: lists.rules }),
    "GET /notifications/deliveries": () => ({ deliveries }),
    "POST /notifications/targets": () => {
      lists.targets = [...lists.targets, aTarget({ id: 2, name: "new" })];
      return lists.targets.at(-1);
    },
    "POST /notifications/targets/1/test": () => aDelivery({ status: "waiting", event: "test" }),
    "POST /notifications/rules": () => {
      const rule = {
        id: 9,
        target_id: 1,
        target: "hook",
        on: ["end", "anomaly"],
        experiment_id: 3,
        owner: null,
      };
      lists.rules = [...lists.rules, rule as NotifyRule];
      return rule;
    },
    "DELETE /notifications/rules/9": () => {
      lists.rules = [];
      return {};
    },
    "DELETE /notifications/targets/1": () => {
      lists.targets = [];
      return {};
    },
  });
  return service;
}

async function openDialog() {
  openPage("/experiments/3");
  await userEvent.click(await screen.findByRole("button", { name: /More/ }));
  await userEvent.click(screen.getByRole("menuitem", { name: "Notifications…" }));
  return within(await screen.findByRole("dialog", { name: "Notifications" }));
}

test("a rule of an experiment is added and removed", async () => {
  const service = aService();
  const dialog = await openDialog();
  await userEvent.click(await dialog.findByRole("checkbox", { name: /anomaly/ }));
  await userEvent.click(dialog.getByRole("checkbox", { name: /failure/ }));
  await userEvent.click(dialog.getByRole("button", { name: "Add the rule" }));
  await userEvent.click(await dialog.findByRole("button", { name: "Remove the rule of hook" }));
  expect(await dialog.findByText("No target gets messages yet.")).toBeVisible();
  const sent = '{"target":"hook","on":["end","anomaly"],"experiment_id":3,"owner":null}';
  expect(service.bodies).toContain(`POST /notifications/rules ${sent}`);
});

test("a rule of the owner has a test, and is not removed on the page of one experiment", async () => {
  const rule: NotifyRule = {
    id: 5,
    target_id: 1,
    target: "hook",
    on: ["end"],
    experiment_id: null,
    owner: "ada",
  };
  const service = aService([rule]);
  const dialog = await openDialog();
  expect(await dialog.findByText("all of ada")).toBeVisible();
  expect(dialog.queryByRole("button", { name: /Remove/ })).toBeNull();
  await userEvent.click(dialog.getByRole("button", { name: "Send a test to hook" }));
  expect(await dialog.findByText(/A test is on its way to hook/)).toBeVisible();
  expect(service.requests).toContain("POST /notifications/targets/1/test");
});

test("each message shows how far its delivery is and why the newest attempt failed", async () => {
  const soon = new Date(Date.now() + 90_000).toISOString();
  aService(
    [],
    [
      aDelivery({ id: 3, status: "waiting", attempts: 4, next_at: soon, error: "the server answered 500" }),
      aDelivery({ id: 2, status: "given_up", error: "no answer within 10 s" }),
      aDelivery(),
    ],
  );
  const dialog = await openDialog();
  const rows = within(await dialog.findByRole("list", { name: "Messages" })).getAllByRole("listitem");
  expect(rows[0]).toHaveTextContent(/waiting.*Run 7 failed.*4 attempts, next attempt in .*answered 500/);
  expect(rows[1]).toHaveTextContent(/given up.*no answer within 10 s/);
  expect(rows[2]).toHaveTextContent(/delivered.*to hook/);
});

test("a webhook is stored with a secret that the page made and shows", async () => {
  const service = aService([], [], []);
  openPage("/automation");
  expect(await screen.findByText(/There is none yet. The rules/)).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Add a target…" }));
  const dialog = within(screen.getByRole("dialog", { name: "Add a target" }));
  await userEvent.type(dialog.getByRole("textbox", { name: "Name" }), "new");
  await userEvent.type(dialog.getByRole("textbox", { name: "Address" }), "https://hooks.example.org/x");
  const secret = dialog.getByText(/^whsec_/).textContent;
  await userEvent.click(dialog.getByRole("button", { name: "Add" }));
  expect(await screen.findByRole("button", { name: "Send a test to new" })).toBeVisible();
  expect(atob(secret.replace("whsec_", ""))).toHaveLength(32);
  expect(service.bodies[0]).toContain(
    `"kind":"webhook","address":"https://hooks.example.org/x","secret":"${secret}"`,
  );
});

test("an address of Apprise has no secret, and the reason of a refusal stands at its field", async () => {
  const service = aService();
  service.refused["POST /notifications/targets"] = {
    status: 422,
    detail: "the target is not valid",
    errors: [{ path: "address", message: "an Apprise URL begins with one of: slack" }],
  };
  openPage("/automation");
  await userEvent.click(await screen.findByRole("button", { name: "Add a target…" }));
  const dialog = within(screen.getByRole("dialog", { name: "Add a target" }));
  await userEvent.selectOptions(dialog.getByRole("combobox", { name: "Kind" }), "apprise");
  await userEvent.type(dialog.getByRole("textbox", { name: "Name" }), "new");
  await userEvent.type(dialog.getByRole("textbox", { name: "Address" }), "json://x");
  expect(dialog.queryByText(/^whsec_/)).toBeNull();
  await userEvent.click(dialog.getByRole("button", { name: "Add" }));
  expect(await dialog.findByRole("textbox", { name: "Address" })).toBeInvalid();
  expect(service.bodies[0]).toContain('"secret":null');
});

test("a target is deleted after a question, and its last error is shown", async () => {
  const service = aService([], [], [aTarget({ error: "the server answered 500", waiting: 2 })]);
  openPage("/automation");
  const row = within(await screen.findByRole("list", { name: "Targets" })).getByRole("listitem");
  expect(row).toHaveTextContent(/hook.*2 messages waiting.*the server answered 500/);
  await userEvent.click(within(row).getByRole("button", { name: "Delete hook…" }));
  await userEvent.click(
    within(screen.getByRole("dialog", { name: /Delete the target/ })).getByRole("button", { name: "Delete" }),
  );
  expect(await screen.findByText(/There is none yet. The rules/)).toBeVisible();
  expect(service.requests).toContain("DELETE /notifications/targets/1");
});

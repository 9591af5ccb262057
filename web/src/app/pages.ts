/**
 * The code of each page: a file of its own, which loads before the page is shown.
 *
 * The code of the other pages loads while the browser is idle, so that a link opens at once.
 */
import type { ComponentType } from "react";
import { loadedPage } from "./loadedPage";

// any other text than a number leads to "This page does not exist"
export const EXPERIMENT = /^\/experiments\/(?<id>\d+)\/?$/;
export const REPORT = /^\/reports\/(?<id>\d+)\/?$/;
export const RUN = /^\/runs\/(?<id>\d+)\/?$/;

const PAGES: { path: string | RegExp; load: () => Promise<unknown> }[] = [];

function page<Props extends object>(path: string | RegExp, fetchCode: () => Promise<ComponentType<Props>>) {
  const { Page, load } = loadedPage(fetchCode);
  PAGES.push({ path, load });
  return Page;
}

export const AutomationPage = page(
  "/automation",
  async () => (await import("@/features/automation/AutomationPage")).AutomationPage,
);
export const ClustersPage = page(
  "/clusters",
  async () => (await import("@/features/clusters/ClustersPage")).ClustersPage,
);
export const CollectivesPage = page(
  "/collectives",
  async () => (await import("@/features/collectives/CollectivesPage")).CollectivesPage,
);
export const ComparePage = page(
  "/compare",
  async () => (await import("@/features/compare/ComparePage")).ComparePage,
);
export const DeletionsPage = page(
  "/deleted",
  async () => (await import("@/features/deletions/DeletionsPage")).DeletionsPage,
);
export const ExperimentPage = page(
  EXPERIMENT,
  async () => (await import("@/features/experiment-page/ExperimentPage")).ExperimentPage,
);
export const HomePage = page("/", async () => (await import("@/features/home/HomePage")).HomePage);
export const PlannerPage = page(
  "/plan",
  async () => (await import("@/features/planner/PlannerPage")).PlannerPage,
);
export const ReportPage = page(
  REPORT,
  async () => (await import("@/features/reports/ReportPage")).ReportPage,
);
export const ReportsPage = page(
  "/reports",
  async () => (await import("@/features/reports/ReportsPage")).ReportsPage,
);
export const RunPage = page(RUN, async () => (await import("@/features/run-page/RunPage")).RunPage);
export const RunsPage = page("/runs", async () => (await import("@/features/run-list/RunsPage")).RunsPage);
// the editor is as large as all other pages together, and loads when it is needed
export const NewExperimentPage = loadedPage(
  async () => (await import("@/features/new-experiment/NewExperimentPage")).NewExperimentPage,
).Page;

/** Load the code of the page at an address, before React asks for it; return whether the address has one. */
export async function loadPage(address: string): Promise<boolean> {
  const found = PAGES.find(({ path }) => (typeof path === "string" ? path === address : path.test(address)));
  await found?.load();
  return found !== undefined;
}

/** Load the code of all pages but the editor. */
export async function loadAllPages(): Promise<void> {
  for (const { load } of PAGES) await load();
}

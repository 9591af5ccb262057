/**
 * The code of each page: a file of its own, which loads before the page is shown.
 *
 * The code of the other pages loads while the browser is idle, so that a link opens at once.
 */
import { type ComponentType, useEffect, useState } from "react";
import { EmptyState } from "@/shared/messages/EmptyState";
import { Loading } from "@/shared/messages/QueryStatus";

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
  async () => (await import("@/features/DeletionsPage")).DeletionsPage,
);
export const ExperimentPage = page(
  EXPERIMENT,
  async () => (await import("@/features/experiment-page/ExperimentPage")).ExperimentPage,
);
export const HomePage = page("/", async () => (await import("@/features/HomePage")).HomePage);
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

/** A page whose code is a file of its own: it shows at once when its code is there, else when it has come. */
export interface LoadedPage<Props> {
  Page: ComponentType<Props>;
  load: () => Promise<unknown>;
}

/**
 * Return the page and the function that loads its code.
 *
 * React.lazy would do the same, but React holds a page back for 300 ms once its fallback was shown.
 */
export function loadedPage<Props extends object>(
  fetchCode: () => Promise<ComponentType<Props>>,
): LoadedPage<Props> {
  let code: ComponentType<Props> | null = null;
  const load = async () => (code ??= await fetchCode());

  function Page(props: Props) {
    const [Shown, setShown] = useState(() => code);
    const [error, setError] = useState<Error | null>(null);
    useEffect(() => {
      if (!Shown)
        load().then((loaded) => {
          setShown(() => loaded);
        }, setError);
    }, [Shown]);
    if (Shown) return <Shown {...props} />;
    return error ? <NoCode /> : <Loading />;
  }
  return { Page, load };
}

function NoCode() {
  return (
    <EmptyState title="This page did not load">
      <p className="muted">The service did not answer, or it was upgraded since this tab was opened.</p>
      <button
        className="button"
        onClick={() => {
          window.location.reload();
        }}
      >
        Reload
      </button>
    </EmptyState>
  );
}

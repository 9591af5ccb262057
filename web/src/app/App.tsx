/** The frame of the dashboard and its routes. */
import { useEffect, useRef } from "react";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";
import { UndoBanner } from "@/shared/lifecycle/UndoBanner";
import { EmptyState } from "@/shared/messages/EmptyState";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { shownAddress, useChangeView, useView } from "@/shared/views/views";
import styles from "./App.module.css";
import { ConnectionBanner, SchedulerBanner } from "./Banners";
import { Header } from "./Header";
import {
  AutomationPage,
  ClustersPage,
  CollectivesPage,
  ComparePage,
  DeletionsPage,
  EXPERIMENT,
  ExperimentPage,
  HomePage,
  NewExperimentPage,
  PlannerPage,
  REPORT,
  ReportPage,
  ReportsPage,
  RUN,
  RunPage,
  RunsPage,
} from "./pages";

const VIEW = /^\/views\/(?<id>\d+)\/?$/;

export function App() {
  const main = useRef<HTMLElement>(null);
  const [location] = useLocation();
  const first = useRef(location);

  // A new page starts at its top, also for screen readers; the browser positions the first page.
  useEffect(() => {
    if (first.current === location) return;
    first.current = "";
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [location]);

  return (
    <>
      <a className={styles.skipLink} href="#main">
        Skip to the content
      </a>
      <Header />
      <ConnectionBanner />
      <SchedulerBanner />
      <UndoBanner />
      <main id="main" className={styles.main} ref={main} tabIndex={-1}>
        <Pages />
      </main>
    </>
  );
}

/** The page of the address. */
function Pages() {
  return (
    <Switch>
      <Route path="/" component={HomePage} />
      <Route path={EXPERIMENT}>{({ id }) => <ExperimentPage key={id} id={Number(id)} />}</Route>
      <Route path={RUN}>{({ id }) => <RunPage key={id} id={Number(id)} />}</Route>
      <Route path="/new" component={NewExperimentPage} />
      <Route path="/runs" component={RunsPage} />
      <Route path="/compare" component={ComparePage} />
      <Route path="/reports" component={ReportsPage} />
      <Route path={REPORT}>{({ id }) => <ReportPage key={id} id={Number(id)} />}</Route>
      <Route path={VIEW}>{({ id }) => <OpenView key={id} id={Number(id)} />}</Route>
      <Route path="/deleted" component={DeletionsPage} />
      <Route path="/collectives" component={CollectivesPage} />
      <Route path="/automation" component={AutomationPage} />
      <Route path="/plan" component={PlannerPage} />
      <Route path="/clusters" component={ClustersPage} />
      <Route>
        <EmptyState title="This page does not exist">
          <Link href="/">All experiments</Link>
        </EmptyState>
      </Route>
    </Switch>
  );
}

/** The lasting address of a saved view: it leads to what the view shows. */
function OpenView({ id }: { id: number }) {
  const { data, error } = useView(id);
  const change = useChangeView();
  if (!data) return <QueryStatus error={error} />;
  if (!data.deleted_at) return <Redirect to={shownAddress(data)} replace />;
  return (
    <EmptyState title={`The view ${data.name} is deleted`}>
      <p>
        <button
          className="button"
          onClick={() => {
            change.mutate({ id, deleted: false });
          }}
        >
          Undo the deletion
        </button>
      </p>
      <Link href="/runs">All runs</Link>
    </EmptyState>
  );
}

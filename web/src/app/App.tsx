/** The frame of the dashboard and its routes. */
import { useEffect, useRef } from "react";
import { Link, Route, Switch, useLocation, useSearchParams } from "wouter";
import { ClusterSidebar } from "@/features/clusters/ClusterSidebar";
import { ClustersPage } from "@/features/clusters/ClustersPage";
import { CollectivesPage } from "@/features/collectives/CollectivesPage";
import { ExperimentList } from "@/features/experiment-list/ExperimentList";
import { ExperimentPage } from "@/features/experiment-page/ExperimentPage";
import { RunsPage } from "@/features/run-list/RunsPage";
import { RunPage } from "@/features/run-page/RunPage";
import { EmptyState } from "@/shared/messages/EmptyState";
import styles from "./App.module.css";
import { ConnectionBanner } from "./ConnectionBanner";
import { Header } from "./Header";
import { SchedulerBanner } from "./SchedulerBanner";

// any other text than a number leads to "This page does not exist"
const EXPERIMENT = /^\/experiments\/(?<id>\d+)\/?$/;
const RUN = /^\/runs\/(?<id>\d+)\/?$/;

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
      <main id="main" className={styles.main} ref={main} tabIndex={-1}>
        <Switch>
          <Route path="/" component={Home} />
          <Route path={EXPERIMENT}>{({ id }) => <ExperimentPage key={id} id={Number(id)} />}</Route>
          <Route path={RUN}>{({ id }) => <RunPage key={id} id={Number(id)} />}</Route>
          <Route path="/runs" component={RunsPage} />
          <Route path="/collectives" component={CollectivesPage} />
          <Route path="/clusters" component={ClustersPage} />
          <Route>
            <EmptyState title="This page does not exist">
              <Link href="/">All experiments</Link>
            </EmptyState>
          </Route>
        </Switch>
      </main>
    </>
  );
}

function Home() {
  const [search] = useSearchParams();
  return (
    <div className={styles.home}>
      <ExperimentList search={search} />
      <ClusterSidebar />
    </div>
  );
}

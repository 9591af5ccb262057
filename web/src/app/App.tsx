/** The frame and its pages. */
import { useEffect, useRef } from "react";
import { Link, Route, Switch, useLocation, useSearchParams } from "wouter";
import { ClusterPage } from "@/features/clusters/ClustersPage";
import { ClusterStrip } from "@/features/clusters/ClusterSidebar";
import { CollectivePage } from "@/features/collectives/CollectivesPage";
import { ExperimentPage } from "@/features/experiment-page/ExperimentPage";
import { ExperimentList } from "@/features/experiment-list/ExperimentList";
import { RunPage } from "@/features/run-page/RunPage";
import { Notice } from "@/shared/messages/QueryStatus";
import { Header } from "./Header";
import { SilenceBanner } from "./ConnectionBanner";
import "./app.css";

export function App() {
  const main = useRef<HTMLElement>(null);
  const [location] = useLocation();
  const first = useRef(location);

  // a new page begins at its top, also for who reads by ear; the first one is where the browser puts it
  useEffect(() => {
    if (first.current === location) return;
    first.current = "";
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [location]);

  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <Header />
      <SilenceBanner />
      <main id="main" ref={main} tabIndex={-1}>
        <Switch>
          <Route path="/" component={Home} />
          <Route path="/experiments/:id">{({ id }) => <ExperimentPage key={id} id={Number(id)} />}</Route>
          <Route path="/runs/:id">{({ id }) => <RunPage key={id} id={Number(id)} />}</Route>
          <Route path="/collectives" component={CollectivePage} />
          <Route path="/clusters" component={ClusterPage} />
          <Route>
            <Notice title="There is no such page">
              <Link href="/">All experiments</Link>
            </Notice>
          </Route>
        </Switch>
      </main>
    </>
  );
}

function Home() {
  const [search] = useSearchParams();
  const before = Number(search.get("before")) || undefined;
  return (
    <div className="home">
      <ExperimentList before={before} />
      <ClusterStrip />
    </div>
  );
}

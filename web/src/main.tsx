/** Start the dashboard in index.html's #root. */
import "./shared/theme/font.css";
import "./shared/theme/tokens.css";
import "./shared/theme/base.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Router } from "wouter";
import { App } from "@/app/App";
import { loadAllPages, loadPage } from "@/app/pages";
import { hasStream } from "@/shared/live/stream";
import { loadWhenIdle, reloadWithoutCode } from "@/app/code";
import { openBelowRoot, pagePath, ROOT } from "@/shared/page/root";

// The next poll is the retry. A service on this machine also answers when the network is down.
// A tab that is shown again catches up by its stream.
const cache = new QueryClient({
  defaultOptions: {
    queries: { retry: false, networkMode: "always", refetchOnWindowFocus: () => !hasStream() },
  },
});
const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");

reloadWithoutCode();
openBelowRoot();
const page = createRoot(root);
// the page shows the error of code that cannot be loaded
void loadPage(pagePath())
  .catch(() => false)
  .then(() => {
    page.render(
      <StrictMode>
        <QueryClientProvider client={cache}>
          <Router base={ROOT}>
            <App />
          </Router>
        </QueryClientProvider>
      </StrictMode>,
    );
  });
loadWhenIdle(loadAllPages);

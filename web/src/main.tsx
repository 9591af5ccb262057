/** Start the dashboard in index.html's #root. */
import "./shared/theme/font.css";
import "./shared/theme/tokens.css";
import "./shared/theme/base.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/App";

// The next poll is the retry. A service on this machine also answers when the network is down.
const cache = new QueryClient({ defaultOptions: { queries: { retry: false, networkMode: "always" } } });
const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");

createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={cache}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);

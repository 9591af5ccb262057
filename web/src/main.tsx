/** The dashboard begins. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import "./shared/theme/font.css";
import "./shared/theme/tokens.css";
import "./shared/theme/base.css";

// the next poll is the retry; a service on this machine answers also where there is no network
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

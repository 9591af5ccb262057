/** Render the dashboard at an address. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import { App } from "@/app/App";

export function openPage(path: string) {
  window.history.pushState(null, "", path);
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false, networkMode: "always" } } });
  return render(
    <QueryClientProvider client={cache}>
      <App />
    </QueryClientProvider>,
  );
}

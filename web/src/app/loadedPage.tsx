/** A page whose code is a file of its own: it shows at once when its code is there, else when it has come. */
import { type ComponentType, useEffect, useState } from "react";
import { EmptyState } from "@/shared/messages/EmptyState";
import { Loading } from "@/shared/messages/QueryStatus";

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

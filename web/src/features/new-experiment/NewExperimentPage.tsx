/** The page that makes an experiment: the recipes, or a spec to edit, which the address and this tab hold. */
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { EmptyState } from "@/shared/messages/EmptyState";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { PageHeader, useTitle } from "@/shared/page/PageHeader";
import { type Source, useFirstText } from "./firstText";
import { DraftEditor } from "./DraftEditor";
import { Gallery } from "./Gallery";

export function NewExperimentPage() {
  useTitle("New experiment");
  const [search] = useSearchParams();
  const source = sourceOf(search);
  if (!source)
    return (
      <>
        <PageHeader title="New experiment" />
        <Gallery />
      </>
    );
  return (
    <>
      <PageHeader
        breadcrumbs={<Link href="/new">Recipes</Link>}
        title={
          source.kind === "experiment" || source.kind === "run" ? "Clone with changes" : "New experiment"
        }
      />
      <Loaded key={search.toString()} source={source} />
    </>
  );
}

/** Return what the address asks to begin with, null for the recipes. */
function sourceOf(search: URLSearchParams): Source | null {
  const recipe = search.get("recipe");
  if (recipe !== null) return { kind: "recipe", name: recipe };
  for (const [name, kind] of [["from", "experiment"] as const, ["run", "run"] as const]) {
    const id = search.get(name);
    if (id !== null) return { kind, id: Number(id) };
  }
  return search.has("empty") ? { kind: "empty" } : null;
}

function Loaded({ source }: { source: Source }) {
  const { text, origin, error, isAbsent } = useFirstText(source);
  if (isAbsent)
    return (
      <EmptyState title="There is no such recipe">
        <Link href="/new">All recipes</Link>
      </EmptyState>
    );
  if (text === undefined) return <QueryStatus error={error} />;
  return <Stored first={text} origin={origin} />;
}

/** The text of this tab, also after a reload: nothing that was written is lost. */
function Stored({ first, origin }: { first: string; origin: number | undefined }) {
  const place = `draft ${location.search}`;
  const [text, setText] = useState(() => sessionStorage.getItem(place) ?? first);
  return (
    <DraftEditor
      text={text}
      origin={origin}
      onChange={(changed) => {
        sessionStorage.setItem(place, changed);
        setText(changed);
      }}
    />
  );
}

/** The recipes: what each shows, its size, and how long it took here. */
import { Link, useLocation } from "wouter";
import type { Recipe } from "@/shared/api/types";
import { formatDuration } from "@/shared/format/time";
import { pluralize } from "@/shared/format/number";
import { useCreate } from "@/shared/lifecycle/create";
import { EmptyState } from "@/shared/messages/EmptyState";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { useRecipes } from "./firstText";
import styles from "./Gallery.module.css";

export function Gallery() {
  const { data: recipes, error } = useRecipes();
  if (!recipes) return <QueryStatus error={error} />;
  const isHere = ({ clusters }: Recipe) => !clusters.includes("slurm");
  return (
    <>
      <p className={styles.begin}>
        <Link className="button primary" href="/new?empty">
          Begin with an empty spec
        </Link>
        <span className="muted">or choose a recipe, which you can change before you submit it.</span>
      </p>
      {recipes.length === 0 && (
        <EmptyState title="This service has no recipes">
          <p className="muted">The folder recipes of the repository was not installed with it.</p>
        </EmptyState>
      )}
      <Section title="On this machine" recipes={recipes.filter(isHere)} />
      <Section title="On a Slurm cluster" recipes={recipes.filter((recipe) => !isHere(recipe))} />
    </>
  );
}

function Section({ title, recipes }: { title: string; recipes: Recipe[] }) {
  if (!recipes.length) return null;
  return (
    <section className={styles.recipeSection} aria-label={title}>
      <h2>{title}</h2>
      <ul className={styles.recipeGrid}>
        {recipes.map((recipe) => (
          <Card key={recipe.name} recipe={recipe} />
        ))}
      </ul>
    </section>
  );
}

function Card({ recipe }: { recipe: Recipe }) {
  const { name, title, description, runs, ranks, last } = recipe;
  return (
    <li className={`panel ${styles.recipeCard ?? ""}`}>
      <h3>
        <Link href={`/new?recipe=${encodeURIComponent(name)}`}>{title}</Link>
      </h3>
      <p className="small muted">
        {pluralize(runs, "run")}, {runs > 1 ? "at most " : ""}
        {pluralize(ranks, "rank")}
        {last && ` · took ${formatDuration(last.seconds)} here`}
      </p>
      <p className="small">{description}</p>
      <StartButton recipe={recipe} />
    </li>
  );
}

/** Submit the recipe as it is, and open the new experiment. */
function StartButton({ recipe: { title, text } }: { recipe: Recipe }) {
  const create = useCreate();
  const [, navigate] = useLocation();
  return (
    <>
      <button
        type="button"
        className="button small"
        aria-label={`Start ${title}`}
        disabled={create.isPending || create.isSuccess}
        onClick={() => {
          create.mutate(text, {
            onSuccess: ({ id }) => {
              navigate(`/experiments/${id}`);
            },
          });
        }}
      >
        {create.isPending ? "Submitting …" : "Start"}
      </button>
      {create.error && (
        <p className="small" role="alert">
          {create.error.message}
        </p>
      )}
    </>
  );
}

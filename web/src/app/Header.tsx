/** The name, the ways, and the light. */
import { Link, useLocation } from "wouter";
import { toggleTheme, useTheme } from "@/shared/theme/theme";

export function Header() {
  const theme = useTheme();
  const [location] = useLocation();
  const isActive = (path: string) => location.startsWith(path);
  const other = theme === "dark" ? "light" : "dark";
  return (
    <header className="top">
      <Link href="/" className="wordmark">
        <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
          <path opacity=".45" d="M2 2h4v4H2zM2 8h4v4H2zM8 2h4v4H8z" />
          <path d="M2 14h4v4H2zM8 8h4v10H8zM14 2h4v16h-4z" />
        </svg>
        <span>Bigbatch</span>
      </Link>
      <nav aria-label="Main">
        <Link href="/" className={isActive("/clusters") || isActive("/collectives") ? "" : "active"}>
          Experiments
        </Link>
        <Link href="/collectives" className={isActive("/collectives") ? "active" : ""}>
          Collectives
        </Link>
        <Link href="/clusters" className={isActive("/clusters") ? "active" : ""}>
          Clusters
        </Link>
      </nav>
      <button
        className="plain theme"
        onClick={toggleTheme}
        aria-label={`Change to the ${other} theme`}
        title={`${other} theme`}
      >
        <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
          <circle cx="10" cy="10" r="6.5" fill="none" stroke="currentColor" strokeWidth="1.5" />
          <path d="M10 3.5a6.5 6.5 0 0 1 0 13z" fill="currentColor" />
        </svg>
      </button>
    </header>
  );
}

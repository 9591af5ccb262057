/** The top bar: the name, the main links and the switch of the theme. */
import { useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { classNames } from "@/shared/page/classNames";
import { serviceAddress } from "@/shared/page/root";
import { toggleTheme, useTheme } from "@/shared/theme/theme";
import styles from "./Header.module.css";
import { Commands } from "./palette/Commands";

export function Header() {
  return (
    <header className={styles.topBar}>
      <Link href="/" className={styles.wordmark ?? ""}>
        <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
          <path opacity=".45" d="M2 2h4v4H2zM2 8h4v4H2zM8 2h4v4H8z" />
          <path d="M2 14h4v4H2zM8 8h4v10H8zM14 2h4v16h-4z" />
        </svg>
        <span>Bigbatch</span>
      </Link>
      <MainLinks />
      <Commands className={classNames("plain", styles.iconButton, styles.find)} />
      <ThemeButton />
      <SignOut />
    </header>
  );
}

function MainLinks() {
  const [location] = useLocation();
  const isRuns = location === "/runs" || location === "/compare";
  const isClusters = location.startsWith("/clusters");
  const isReports = location.startsWith("/reports");
  const isCollectives = location.startsWith("/collectives");
  const isPlan = location.startsWith("/plan");
  const isAutomation = location === "/automation";
  const isOther = isRuns || isReports || isClusters || isCollectives || isPlan || isAutomation;
  return (
    <nav aria-label="Main">
      <MainLink href="/" isCurrent={!isOther}>
        Experiments
      </MainLink>
      <MainLink href="/runs" isCurrent={isRuns}>
        Runs
      </MainLink>
      <MainLink href="/reports" isCurrent={isReports}>
        Reports
      </MainLink>
      <MainLink href="/collectives" isCurrent={isCollectives}>
        Collectives
      </MainLink>
      <MainLink href="/plan" isCurrent={isPlan}>
        Plan
      </MainLink>
      <MainLink href="/automation" isCurrent={isAutomation}>
        Automation
      </MainLink>
      <MainLink href="/clusters" isCurrent={isClusters}>
        Clusters
      </MainLink>
    </nav>
  );
}

function ThemeButton() {
  const theme = useTheme();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <button
      className={classNames("plain", styles.iconButton, styles.themeToggle)}
      onClick={toggleTheme}
      aria-label={`Change to the ${other} theme`}
      title={`${other} theme`}
    >
      <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
        <circle cx="10" cy="10" r="6.5" fill="none" stroke="currentColor" strokeWidth="1.5" />
        <path d="M10 3.5a6.5 6.5 0 0 1 0 13z" fill="currentColor" />
      </svg>
    </button>
  );
}

/** A plain form: the service ends the session and answers with its sign-in page. */
function SignOut() {
  return (
    <form className={styles.signOut ?? ""} method="post" action={serviceAddress("/sign-out")}>
      <button className={classNames("plain", styles.iconButton)} aria-label="Sign out" title="sign out">
        <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
          <path
            d="M8 3.5H3.5v13H8M8 10h9m-3.5-3.5L17 10l-3.5 3.5"
            fill="none"
            stroke="currentColor"
            strokeWidth="1.5"
          />
        </svg>
      </button>
    </form>
  );
}

interface MainLinkProps {
  href: string;
  isCurrent: boolean;
  children: string;
}

function MainLink({ href, isCurrent, children }: MainLinkProps) {
  const link = useRef<HTMLAnchorElement>(null);
  // on a narrow page the links scroll; the font makes them wider when it is there
  useEffect(() => {
    if (!isCurrent) return;
    const show = () => link.current?.scrollIntoView({ block: "nearest", inline: "center" });
    show();
    void document.fonts.ready.then(show);
  }, [isCurrent]);
  return (
    <Link
      ref={link}
      href={href}
      className={classNames(isCurrent && styles.currentPage)}
      onFocus={(event) => {
        // a browser leaves a link that is in view in part where it is
        event.currentTarget.scrollIntoView({ block: "nearest", inline: "nearest" });
      }}
    >
      {children}
    </Link>
  );
}

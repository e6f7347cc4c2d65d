/** The frame around every page: where one is, what is partial, and the ways to the others. */
import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useMemo, useRef, useState } from "preact/hooks";
import { Parts } from "./data";
import { plain } from "./format";
import type { Overview } from "./model";
import { ComparePage } from "./pages/compare";
import { ErrorsPage } from "./pages/errors";
import { MetricPage } from "./pages/metric";
import { OverviewPage } from "./pages/overview";
import { QuestionPage } from "./pages/question";
import { QuestionsPage } from "./pages/questions";
import { Name } from "./parts/text";
import { Loading, NotFound, ReportContext } from "./report";
import { linkTo, parseRoute, type Route } from "./route";
import { ThemeButton } from "./theme";

const ASK_AGAIN_MS = 2000;

function useOverview(parts: Parts): { overview: Overview | null; problem: string } {
  const [state, setState] = useState<{ overview: Overview | null; problem: string }>({ overview: null, problem: "" });
  useEffect(() => {
    let timer = 0;
    let stopped = false;
    let live = parts.areServed;
    const ask = async () => {
      try {
        const overview = await parts.overview();
        live = overview.live;
        // The same reading again must not make every page draw itself anew.
        setState((old) =>
          old.overview?.snapshot === overview.snapshot && old.problem === "" && live ? old : { overview, problem: "" },
        );
      } catch (error) {
        setState((old) => ({ ...old, problem: error instanceof Error ? error.message : String(error) }));
      }
      if (live && !stopped) timer = window.setTimeout(ask, ASK_AGAIN_MS);
    };
    void ask();
    return () => {
      stopped = true;
      window.clearTimeout(timer);
    };
  }, [parts]);
  return state;
}

/** In a frame that was given its page as text, a link would lead to the address of the page around it. */
function followInFrame(event: MouseEvent) {
  const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
  if (link === null || event.defaultPrevented) return;
  event.preventDefault();
  window.location.hash = link.getAttribute("href") ?? "";
}

function useRoute(): Route {
  // Such a frame has no address of its own to begin with.
  const [hash, setHash] = useState(window.location.hash || (document.documentElement.dataset.page ?? ""));
  useEffect(() => {
    const follow = () => setHash(window.location.hash);
    window.addEventListener("hashchange", follow);
    const isFrame = window.location.protocol === "about:";
    if (isFrame) document.addEventListener("click", followInFrame);
    return () => {
      window.removeEventListener("hashchange", follow);
      if (isFrame) document.removeEventListener("click", followInFrame);
    };
  }, []);
  return useMemo(() => parseRoute(hash), [hash]);
}

/** Names one page: choosing another metric or run within one must neither move the focus nor forget what was filtered. */
function pageKey(route: Route): string {
  return route.page === "metric" || route.page === "compare" ? route.page : JSON.stringify(route);
}

/** What the window, the history and a bookmark call the page. */
function titleOf(route: Route, report: string): string {
  switch (route.page) {
    case "metric":
      return `${plain(route.metric)} - ${report}`;
    case "compare":
      return route.baseline === ""
        ? `Compare - ${report}`
        : `${plain(route.candidate)} compared with ${plain(route.baseline)} - ${report}`;
    case "questions":
      return `Questions - ${report}`;
    case "errors":
      return `Errors - ${report}`;
    case "question":
      return `${plain(route.run)}, question ${route.number} - ${report}`;
    default:
      return report;
  }
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case "overview":
      return <OverviewPage />;
    case "metric":
      return <MetricPage name={route.metric} />;
    case "compare":
      return <ComparePage baseline={route.baseline} candidate={route.candidate} metric={route.metric} />;
    case "questions":
      return <QuestionsPage />;
    case "errors":
      return <ErrorsPage />;
    case "question":
      return <QuestionPage run={route.run} number={route.number} />;
    case "unknown":
      return (
        <NotFound>
          There is no page <Name text={route.hash} />.
        </NotFound>
      );
  }
}

/** A page that cannot be drawn, for a part is not what it should be: it says so, and the others can still be reached. */
function Guarded({ at, children }: { at: string; children: ComponentChildren }) {
  const [error, tryAgain] = useErrorBoundary();
  // Somewhere else, and in a new reading, it may go well.
  useEffect(tryAgain, [at]);
  if (error === undefined) return <>{children}</>;
  return (
    <>
      <h1>This page cannot be shown</h1>
      <p role="alert">The report is damaged, or fastrag has an error: {String(error)}</p>
    </>
  );
}

function Navigation({ overview, route }: { overview: Overview; route: Route }) {
  const link = (page: Route["page"], href: string, text: string) => (
    <li>
      <a href={href} aria-current={route.page === page ? "page" : undefined}>
        {text}
      </a>
    </li>
  );
  const [firstMetric] = overview.metrics;
  const [pair] = overview.pairs;
  const label = (run: number) => overview.runs[run]?.label ?? "";
  return (
    <nav aria-label="Pages">
      <ul>
        {link("overview", linkTo({ page: "overview" }), "Overview")}
        {firstMetric && link("metric", linkTo({ page: "metric", metric: firstMetric.name }), "Metrics")}
        {pair &&
          link(
            "compare",
            linkTo({ page: "compare", baseline: label(pair[0]), candidate: label(pair[1]), metric: "" }),
            "Compare",
          )}
        {link("questions", linkTo({ page: "questions" }), "Questions")}
        {link("errors", linkTo({ page: "errors" }), "Errors")}
      </ul>
    </nav>
  );
}

/** Everything that is on the screen. */
export function App() {
  const parts = useMemo(() => new Parts(), []);
  const { overview, problem } = useOverview(parts);
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  const key = pageKey(route);
  const first = useRef(true);
  useEffect(() => {
    // Not when the report is opened: then the reader starts at the top.
    if (first.current) {
      first.current = false;
      return;
    }
    window.scrollTo(0, 0);
    main.current?.focus();
  }, [key]);
  const title = overview?.title;
  useEffect(() => {
    if (title !== undefined) document.title = titleOf(route, plain(title));
  }, [route, title]);
  if (overview === null) return <Loading problem={problem || undefined} />;
  return (
    <ReportContext.Provider value={{ overview, parts }}>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header>
        <p class="title">
          <Name text={overview.title} />
        </p>
        <Navigation overview={overview} route={route} />
        <ThemeButton />
      </header>
      {(overview.warnings.length > 0 || problem !== "") && (
        <aside class="warnings" aria-label="What this report lacks">
          {problem !== "" && <p role="alert">{problem}</p>}
          {overview.warnings.map((warning) => (
            <p key={warning}>
              <Name text={warning} />
            </p>
          ))}
        </aside>
      )}
      <main id="main" ref={main} tabIndex={-1}>
        <Guarded key={key} at={`${overview.snapshot} ${JSON.stringify(route)}`}>
          <Page route={route} />
        </Guarded>
      </main>
      <footer>
        <p>
          Made by fastrag {overview.version}. Intervals are 95 % intervals of the mean over questions; n counts
          questions measured, coverage is measured of measurable.
        </p>
      </footer>
    </ReportContext.Provider>
  );
}

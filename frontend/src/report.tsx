/** What pages share: the report that they show, its parts, and what stands where there is nothing to show. */
import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Parts } from "./data";
import type { Overview, Run } from "./model";
import { linkTo } from "./route";

interface Report {
  overview: Overview;
  parts: Parts;
}

export const ReportContext = createContext<Report | null>(null);

/** What every page is about. */
export function useReport(): Report {
  const report = useContext(ReportContext);
  if (report === null) throw new Error("used outside of the report");
  return report;
}

type Loaded<T> = { value: T; problem?: undefined } | { value?: undefined; problem?: string };

/**
 * The parts of these names, once all are there. What was shown stays until what is new is there: what is asked for at
 * once is of one reading.
 */
export function useParts<T extends unknown[]>(names: string[]): Loaded<T> {
  const { parts, overview } = useReport();
  const { runs } = overview;
  const [loaded, setLoaded] = useState<{ key: string; runs: Run[]; value: Loaded<T> }>({ key: "", runs, value: {} });
  const key = names.join(" ");
  // The names are in the key; a new reading has new parts, and where it was long in coming, what failed may be had now.
  useEffect(() => {
    let current = true;
    Promise.all(names.map((name) => parts.load(name))).then(
      (value) => current && setLoaded({ key, runs, value: { value: value as T } }),
      (error: unknown) =>
        current && setLoaded({ key, runs, value: { problem: error instanceof Error ? error.message : String(error) } }),
    );
    return () => {
      current = false;
    };
  }, [key, parts, overview]);
  // A run that has come is no reason to take the table away from under its reader.
  const isOfThese = `${key} `.startsWith(`${loaded.key} `) || `${loaded.key} `.startsWith(`${key} `);
  return isOfThese && standAsBefore(loaded.runs, runs) ? loaded.value : {};
}

/** Whether no run has come in between: parts go by the indexes of runs, and would be shown as those of another. */
function standAsBefore(before: Run[], now: Run[]): boolean {
  return before.slice(0, now.length).every(({ label }, run) => label === now[run]?.label);
}

/** What is shown while parts are loading, or could not be. */
export function Loading({ problem }: { problem?: string | undefined }) {
  return problem === undefined ? <p role="status">Loading ...</p> : <p role="alert">{problem}</p>;
}

/** What an address that leads nowhere shows. */
export function NotFound({ children }: { children: ComponentChildren }) {
  return (
    <>
      <h1>Not in this report</h1>
      <p>{children}</p>
      <p>
        <a href={linkTo({ page: "overview" })}>Go to the overview</a>
      </p>
    </>
  );
}

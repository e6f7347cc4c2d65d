/** The part of the address behind "#": which page, and of what. */

export type Route =
  | { page: "overview" }
  | { page: "metric"; metric: string }
  | { page: "compare"; baseline: string; candidate: string; metric: string }
  | { page: "questions" }
  | { page: "errors" }
  /** `number` counts from 1: the place of the sample in the run. */
  | { page: "question"; run: string; number: number }
  | { page: "unknown"; hash: string };

/** "#RUN/NUMBER" is a question; everything else begins with "#/", which no encoded name of a run does. */
export function parseRoute(hash: string): Route {
  const unknown: Route = { page: "unknown", hash };
  let parts: string[];
  try {
    parts = hash.replace(/^#/, "").split("/").map(decodeURIComponent);
  } catch {
    return unknown;
  }
  const [first = "", second = "", third = "", fourth = "", fifth = ""] = parts;
  if (first !== "") {
    const number = /^[1-9]\d{0,8}$/.test(second) ? Number(second) : 0;
    if (parts.length === 2 && number >= 1) return { page: "question", run: first, number };
    return unknown;
  }
  if (parts.length <= 2 && second === "") return { page: "overview" };
  if (second === "metric" && parts.length === 3) return { page: "metric", metric: third };
  if (second === "compare" && parts.length <= 5)
    return { page: "compare", baseline: third, candidate: fourth, metric: fifth };
  if ((second === "questions" || second === "errors") && parts.length === 2) return { page: second };
  return unknown;
}

/** Half a character, which a file may hold in a name, has no place in an address; encoding it would fail. */
function encoded(name: string): string {
  return encodeURIComponent(name.replace(/\p{Cs}/gu, "\ufffd"));
}

/** The address of a page, for an `href`. */
export function linkTo(route: Exclude<Route, { page: "unknown" }>): string {
  const path = (...names: string[]) => `#/${names.map(encoded).join("/")}`;
  switch (route.page) {
    case "overview":
      return "#/";
    case "metric":
      return path("metric", route.metric);
    case "compare":
      return path("compare", route.baseline, route.candidate, ...(route.metric === "" ? [] : [route.metric]));
    case "question":
      return `#${encoded(route.run)}/${route.number}`;
    default:
      return path(route.page);
  }
}

/** Where the parts come from: out of the page itself, or from the server that made it. */
import type { Overview } from "./model";

interface PartSource {
  /** The part of that name, parsed; fails with an Error that says what to do. */
  load<T>(name: string): Promise<T>;
}

/**
 * The same value, its objects without a prototype: names of metrics and runs are keys, and nobody's "constructor" is to
 * be found where a run has no metric of that name.
 */
function bare<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value)) Object.setPrototypeOf(value, null);
  for (const inner of Array.isArray(value) ? value : Object.values(value)) bare(inner);
  return value;
}

/** Parts that the page holds, each as base64 of gzipped JSON: nothing in them can end a script or be run. */
class EmbeddedParts implements PartSource {
  async load<T>(name: string): Promise<T> {
    const element = document.querySelector(`script[data-part="${CSS.escape(name)}"]`);
    if (element === null) throw new Error(`This report has no part ${name}: the file is damaged or was cut short.`);
    const packed = Uint8Array.from(atob((element.textContent ?? "").trim()), (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return bare((await new Response(stream).json()) as T);
  }
}

/** Parts that `fastrag view` makes when they are asked for. */
class ServedParts implements PartSource {
  snapshot = "";

  async load<T>(name: string): Promise<T> {
    const place = name === "overview" ? name : `${this.snapshot}/${name}`;
    let reply: Response;
    try {
      reply = await fetch(`data/${place}.json`, { cache: "no-cache", credentials: "omit" });
    } catch {
      throw new Error("The server does not answer: has fastrag view been stopped?");
    }
    if (!reply.ok) throw new Error((await reply.text()).slice(0, 1000) || `The server replied ${reply.status}.`);
    return bare((await reply.json()) as T);
  }
}

const KEPT_PARTS = 60;

/** Loads parts, and keeps those used last. */
export class Parts {
  /** Whether there may be more to show when asked again. */
  readonly areServed = document.documentElement.dataset.parts === "served";
  private readonly source: PartSource = this.areServed ? new ServedParts() : new EmbeddedParts();
  private readonly kept = new Map<string, Promise<unknown>>();
  private snapshot = "";

  /** The newest overview; parts loaded from then on are of the same reading. */
  async overview(): Promise<Overview> {
    const overview = await this.source.load<Overview>("overview");
    if (overview.snapshot !== this.snapshot) {
      this.kept.clear();
      this.snapshot = overview.snapshot;
      if (this.source instanceof ServedParts) this.source.snapshot = overview.snapshot;
    }
    return overview;
  }

  load<T>(name: string): Promise<T> {
    const found = this.kept.get(name);
    // Taken out and put in again, a part is the last to be forgotten.
    this.kept.delete(name);
    const loading = (found ?? this.source.load<T>(name)) as Promise<T>;
    this.kept.set(name, loading);
    loading.catch(() => {
      if (this.kept.get(name) === loading) this.kept.delete(name);
    });
    const oldest = this.kept.keys().next().value;
    if (this.kept.size > KEPT_PARTS && oldest !== undefined) this.kept.delete(oldest);
    return loading;
  }
}

/** What a run retrieved for a question. */
import { number } from "../format";
import type { Source } from "../model";
import { FirstOf } from "./first-of";
import { LongText, Name } from "./text";

interface Props {
  /** Best first. */
  sources: Source[];
  texts: string[];
  /** Ids that are relevant and not among them. */
  missed: string[];
  isKept: boolean;
}

export function Sources({ sources, texts, missed, isKept }: Props) {
  const isTold = sources.some((source) => source.is_relevant !== null);
  return (
    <>
      <h4>Sources</h4>
      {sources.length === 0 && <p class="muted">None.</p>}
      {sources.length > 0 && (
        <FirstOf all={sources} things="sources">
          {(shown) => (
            <ol class="sources">
              {shown.map((source, place) => (
                <li key={place} class={source.is_relevant ? "relevant" : undefined}>
                  <SourceLine source={source} />
                  {source.text !== null && (
                    <details>
                      <summary>Text</summary>
                      <LongText text={texts[source.text] ?? ""} />
                    </details>
                  )}
                </li>
              ))}
            </ol>
          )}
        </FirstOf>
      )}
      {missed.length > 0 && (
        <div class="missed">
          <p class="bad">
            <span aria-hidden="true">✗</span> Relevant, but not retrieved:
          </p>
          <FirstOf all={missed} things="ids">
            {(shown) => (
              <ul>
                {shown.map((id) => (
                  <li key={id}>
                    <Name text={id} />
                  </li>
                ))}
              </ul>
            )}
          </FirstOf>
        </div>
      )}
      {sources.length > 0 && !isTold && <p class="muted">Which of them are relevant is not known.</p>}
      {sources.length > 0 && !isKept && <p class="muted">Their texts and scores were not kept.</p>}
    </>
  );
}

function SourceLine({ source }: { source: Source }) {
  return (
    <p>
      <span class="id">
        <Name text={source.id} />
      </span>{" "}
      {source.is_relevant === true && (
        <span class="good">
          <span aria-hidden="true">✓</span> relevant
        </span>
      )}
      {source.is_relevant === false && <span class="muted">not relevant</span>}
      {source.score !== null && (
        <span class="score muted">
          {source.is_relevant === null ? "score" : ", score"} {number(source.score, ".4f")}
        </span>
      )}{" "}
      {source.uri !== "" && source.uri !== source.id && (
        <span class="uri">
          <Uri uri={source.uri} />
        </span>
      )}
    </p>
  );
}

/** A link only where it leads to the web: other schemes can run scripts or programs. Nothing is asked for by itself. */
function Uri({ uri }: { uri: string }) {
  let url: URL;
  try {
    url = new URL(uri);
  } catch {
    // A path, or nothing that has a scheme.
    return <Name text={uri} />;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return <Name text={uri} />;
  // As it was read: a page that is served would take "http:path" for a place of its own.
  return (
    <a href={url.href} rel="noreferrer noopener" target="_blank">
      <Name text={uri} />
    </a>
  );
}

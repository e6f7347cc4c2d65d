import type { ComponentChildren } from "preact";
import { count } from "../format";
import type { QuestionDetails } from "../model";
import { LongText, Name } from "./text";

/** What the sample set knows of the right answer. */
export function SampleFacts({ sample }: { sample: QuestionDetails["sample"] }) {
  if (sample === null) return null;
  const ids = Object.entries(sample.relevant_ids);
  const facts: [string, ComponentChildren][] = [];
  if (sample.reference_answer !== null)
    facts.push(["Reference answer", <LongText key="answer" text={sample.reference_answer} />]);
  if (ids.length > 0)
    facts.push([
      "Relevant",
      <ul key="ids" class="plain">
        {ids.map(([id, gain]) => (
          <li key={id}>
            <Name text={id} />
            {gain !== 1 && <span class="muted"> (gain {gain})</span>}
          </li>
        ))}
      </ul>,
    ]);
  if (sample.relevant_spans.length > 0)
    facts.push([
      "Relevant spans",
      <ul key="spans" class="plain">
        {sample.relevant_spans.map(([uri, start, end]) => (
          <li key={`${uri} ${start} ${end}`}>
            <Name text={uri} />{" "}
            <span class="muted">
              characters {count(start)} to {count(end)}
            </span>
          </li>
        ))}
      </ul>,
    ]);
  return (
    <section aria-labelledby="sample">
      <h2 id="sample">What the sample set says</h2>
      {facts.length > 0 && (
        <dl class="facts">
          {facts.map(([term, value]) => (
            <div key={term}>
              <dt>{term}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      <dl class="figures">
        <div>
          <dt>Sample</dt>
          <dd>
            <Name text={sample.id} />
          </dd>
        </div>
        {Object.entries(sample.metadata).map(([key, value]) => (
          <div key={key}>
            <dt>
              <Name text={key} />
            </dt>
            <dd>
              <Name text={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

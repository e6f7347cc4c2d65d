/** What judges said about an answer, and why. */

import { number, plural } from "../format";
import type { Judgement } from "../model";
import { useReport } from "../report";
import { LongText, Name } from "./text";

type Opinion = Judgement["opinions"][number];

export function Judgements({ judgements, isKept }: { judgements: Judgement[]; isKept: boolean }) {
  if (judgements.length === 0 && !isKept) return null;
  return (
    <>
      <h4>Judgements</h4>
      {judgements.length === 0 && <p class="muted">None.</p>}
      {judgements.map((judgement) => (
        <OneJudgement key={judgement.metric} judgement={judgement} />
      ))}
    </>
  );
}

function Missing({ missing }: { missing: { kind: string; detail: string } }) {
  return (
    <div class="doubt">
      Not measured: <Name text={missing.kind} />
      {missing.detail !== "" && <LongText text={missing.detail} />}
    </div>
  );
}

function OneJudgement({ judgement }: { judgement: Judgement }) {
  const { overview } = useReport();
  const format = overview.metrics.find(({ name }) => name === judgement.metric)?.format ?? ".3f";
  const isSaidBelow = judgement.opinions.length === 1 && judgement.opinions.every(({ missing }) => missing !== null);
  return (
    <div class="judgement">
      <h5>
        <Name text={judgement.metric} />: {judgement.score === null ? "not measured" : number(judgement.score, format)}
        {judgement.spread !== null && judgement.opinions.length > 1 && (
          <span class="muted">
            {" "}
            ({plural(judgement.opinions.length, "opinion")}, {number(judgement.spread, format)} apart)
          </span>
        )}
      </h5>
      {judgement.missing !== null && !isSaidBelow && <Missing missing={judgement.missing} />}
      {judgement.opinions.map((opinion) => (
        <OneOpinion key={`${opinion.model} ${opinion.take}`} opinion={opinion} format={format} />
      ))}
    </div>
  );
}

function OneOpinion({ opinion, format }: { opinion: Opinion; format: string }) {
  return (
    <div class="opinion">
      <p>
        <Name text={opinion.model} />
        {opinion.take > 0 && <span class="muted"> (take {opinion.take + 1})</span>}
        {opinion.score !== null && <strong> {number(opinion.score, format)}</strong>}
      </p>
      {opinion.missing !== null && <Missing missing={opinion.missing} />}
      {opinion.reason !== "" && <LongText text={opinion.reason} />}
      {opinion.claims.length > 0 && <Claims opinion={opinion} />}
      {opinion.unreadable.length > 0 && (
        <details>
          <summary>{plural(opinion.unreadable.length, "unreadable reply", "unreadable replies")}</summary>
          {opinion.unreadable.map((reply, place) => (
            <LongText key={place} text={reply} />
          ))}
        </details>
      )}
    </div>
  );
}

/** Words of the judged metrics that speak for an answer or against it; all others do neither. */
const FOR = new Set(["supported", "answered", "needed"]);
const AGAINST = new Set(["contradicted", "unsupported"]);

function Claims({ opinion }: { opinion: Opinion }) {
  return (
    <table class="claims">
      <caption class="visually-hidden">Claims, and what the judge says of each</caption>
      <thead>
        <tr>
          <th scope="col">Claim, and why</th>
          <th scope="col">Verdict</th>
        </tr>
      </thead>
      <tbody>
        {opinion.claims.map(({ text, reason, verdict, sources }, place) => (
          <tr key={place}>
            <th scope="row">
              <LongText text={text} />
              {reason !== "" && (
                <div class="muted">
                  <LongText text={reason} />
                </div>
              )}
            </th>
            <td class={FOR.has(verdict) ? "good" : AGAINST.has(verdict) ? "bad" : undefined}>
              <Name text={verdict} />
              {sources.length > 0 && (
                <div class="muted">
                  {sources.length === 1 ? "source" : "sources"} {sources.join(", ")}
                </div>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

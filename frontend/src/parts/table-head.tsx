import type { ComponentChildren } from "preact";

/** What a column is of: words stand to the left, numbers to the right. */
export type Column = { heading: ComponentChildren; of: "words" | "numbers" };

export function words(heading: ComponentChildren): Column {
  return { heading, of: "words" };
}

export function numbers(...headings: ComponentChildren[]): Column[] {
  return headings.map((heading) => ({ heading, of: "numbers" }));
}

/** The row of headings of a table. */
export function TableHead({ columns }: { columns: Column[] }) {
  return (
    <thead>
      <tr>
        {columns.map(({ heading, of }, place) => (
          <th key={place} scope="col" class={of === "numbers" ? "number" : undefined}>
            {heading}
          </th>
        ))}
      </tr>
    </thead>
  );
}

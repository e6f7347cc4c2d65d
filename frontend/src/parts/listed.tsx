import { Fragment, type JSX } from "preact";

/** One after the other, with commas between. */
export function Listed({ children }: { children: JSX.Element[] }) {
  return children.map((one, place) => (
    <Fragment key={place}>
      {place > 0 && ", "}
      {one}
    </Fragment>
  ));
}

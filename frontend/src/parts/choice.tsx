import { useId } from "preact/hooks";
import { plain } from "../format";

/** One of several names, chosen from a list. */
export function Choice({
  label,
  names,
  chosen,
  onChoose,
}: {
  label: string;
  names: string[];
  chosen: string;
  onChoose: (name: string) => void;
}) {
  const id = useId();
  return (
    <p class="choice no-print">
      <label for={id}>{label}</label>{" "}
      <select id={id} value={chosen} onChange={(event) => onChoose(event.currentTarget.value)}>
        {names.map((name) => (
          <option key={name} value={name}>
            {plain(name)}
          </option>
        ))}
      </select>
    </p>
  );
}

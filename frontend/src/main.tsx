import { render } from "preact";
import { App } from "./app";
import "./styles/base.css";

const root = document.getElementById("report");
if (root !== null) {
  // What stands there is the overview for readers without scripts.
  root.replaceChildren();
  render(<App />, root);
}

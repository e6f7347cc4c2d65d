/** Dark or light: as the system has it, until someone chooses. */
import { useEffect, useState } from "preact/hooks";

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const KEY = "fastrag-theme";

function remembered(): Theme {
  try {
    const found = window.localStorage.getItem(KEY);
    return THEMES.find((theme) => theme === found) ?? "auto";
  } catch {
    // A page from disk, or in a frame, may have no storage.
    return "auto";
  }
}

export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(remembered);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      window.localStorage.setItem(KEY, theme);
    } catch {
      // It is forgotten with the page.
    }
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
  return (
    <button type="button" class="theme no-print" onClick={() => setTheme(next)} title={`Change to ${next}`}>
      Theme: {theme}
    </button>
  );
}

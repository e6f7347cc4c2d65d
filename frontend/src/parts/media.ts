import { useEffect, useState } from "preact/hooks";

/** Whether the media query holds now. */
export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const media = window.matchMedia(query);
    const follow = () => setMatches(media.matches);
    follow();
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, [query]);
  return matches;
}

/** Whether what is drawn goes to paper. */
export function usePrinting(): boolean {
  const isPrint = useMedia("print");
  // Paper is counted before the media change, and after this event.
  const [isAbout, setAbout] = useState(false);
  useEffect(() => {
    const before = () => setAbout(true);
    const after = () => setAbout(false);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }, []);
  return isPrint || isAbout;
}

import { defineConfig } from "vite";

// One script and one style sheet, for a page that has to hold them both itself.
export default defineConfig({
  build: {
    outDir: "../src/fastrag/benchmark/report/html/static",
    emptyOutDir: true,
    target: "es2022",
    // What is in the script, and under which licences: it goes into every report.
    license: { fileName: "licenses.md" },
    lib: {
      entry: "src/main.tsx",
      formats: ["iife"],
      name: "fastragReport",
      fileName: () => "report.js",
      cssFileName: "report",
    },
  },
});

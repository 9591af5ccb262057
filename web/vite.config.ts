import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** Write a compressed file beside each file of code and style, so that the service need not compress it. */
const compressed: Plugin = {
  name: "compressed",
  apply: "build",
  async writeBundle({ dir }, bundle) {
    // from the disk: other plugins change the code of a bundle until it is written
    const files = Object.keys(bundle).filter((name) => /^assets\/.*\.(js|css)$/.test(name));
    for (const file of files.map((name) => join(dir ?? "", name)))
      await writeFile(`${file}.gz`, gzipSync(await readFile(file), { level: 9 }));
  },
};

export default defineConfig({
  base: "./", // the service writes into the page below which path it is (api/dashboard.py)
  plugins: [react(), compressed],
  resolve: { alias: { "@": fileURLToPath(new URL("src", import.meta.url)) } },
  server: { proxy: { "^/(api|sign-in|sign-out)": "http://127.0.0.1:8000" } },
  build: {
    target: "es2023",
    chunkSizeWarningLimit: 600,
    // one style sheet: the order of its rules must not depend on which page loads first
    cssCodeSplit: false,
    // few files for each page: its own, what all pages have in common, and the charts
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "charts", test: /\/(shared\/(plot|curves|frame)\/|node_modules\/uplot\/)/ },
            {
              name: "common",
              test: new RegExp(
                "vite/preload-helper|/src/(app|features/clusters|shared(?!/labels/MarkdownText))/|" +
                  "/node_modules/(react|react-dom|scheduler|use-sync-external-store|wouter|regexparam|openapi-fetch|@tanstack)/",
              ),
            },
          ],
          includeDependenciesRecursively: false,
        },
      },
    },
  },
  test: {
    environment: "jsdom",
    include: ["tests/**/*.test.tsx", "tests/**/*.test.ts"],
    setupFiles: "tests/setup.ts",
    isolate: false, // all files share jsdom and the modules, which takes half of the time
    testTimeout: 90_000, // a busy machine takes several times as long as an idle one
  },
});

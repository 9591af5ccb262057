import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("src", import.meta.url)) } },
  server: { proxy: { "^/(api|sign-in|sign-out)": "http://127.0.0.1:8000" } },
  build: { target: "es2023", chunkSizeWarningLimit: 600 },
  test: {
    environment: "jsdom",
    include: ["tests/**/*.test.tsx", "tests/**/*.test.ts"],
    setupFiles: "tests/setup.ts",
    testTimeout: 90_000, // a busy machine takes several times as long as an idle one
  },
});

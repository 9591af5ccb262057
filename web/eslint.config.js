import { readdirSync } from "node:fs";
import js from "@eslint/js";
import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import ts from "typescript-eslint";

const features = readdirSync(new URL("src/features", import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/**
 * The layers: shared < features < app; a feature in a folder does not import another feature.
 *
 * A page that is one file beside the folders may consist of several features.
 */
const layer = (files, ...above) => ({
  files,
  rules: { "no-restricted-imports": ["error", { patterns: [{ regex: above.join("|") }] }] },
});

export default ts.config(
  { ignores: ["dist", "src/shared/api/schema.d.ts"] },
  js.configs.recommended,
  {
    files: ["**/*.{ts,tsx}"],
    extends: [...ts.configs.strictTypeChecked, a11y.flatConfigs.strict, hooks.configs.flat.recommended],
    languageOptions: { parserOptions: { project: "./tsconfig.json" } },
    rules: {
      "max-lines": ["error", 300],
      complexity: ["error", 10],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  { files: ["src/**"], rules: { "max-lines-per-function": ["error", 45] } },
  {
    files: ["public/*.js"],
    languageOptions: { globals: { localStorage: "readonly", document: "readonly" } },
  },
  {
    files: ["*.{js,mjs}"],
    languageOptions: { globals: { process: "readonly", console: "readonly", URL: "readonly" } },
  },
  layer(["src/shared/**"], "^@/features", "^@/app"),
  layer(["src/features/*"], "^@/app"),
  ...features.flatMap((own) => {
    const others = ["^@/app", `^@/features/(?!${own}/)`];
    return [
      layer([`src/features/${own}/**`], ...others, "^\\.\\./\\.\\./"),
      layer([`src/features/${own}/*`], ...others, "^\\.\\./"),
    ];
  }),
);

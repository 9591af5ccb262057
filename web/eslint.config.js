import js from "@eslint/js";
import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import ts from "typescript-eslint";

const features = ["experiments", "experiment", "run", "cluster", "collective"];

/** The floors: shared < features < app, and no feature knows another. */
const floor = (files, ...above) => ({
  files,
  rules: { "no-restricted-imports": ["error", { patterns: [{ regex: above.join("|") }] }] },
});

export default ts.config(
  { ignores: ["dist", "src/shared/api/schema.d.ts"] },
  js.configs.recommended,
  {
    files: ["**/*.{ts,tsx}"],
    extends: [...ts.configs.strictTypeChecked, a11y.flatConfigs.strict, hooks.configs.flat.recommended],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "max-lines": ["error", 300],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    files: ["*.{js,mjs}"],
    languageOptions: { globals: { process: "readonly", console: "readonly", URL: "readonly" } },
  },
  floor(["src/shared/**"], "^@/features", "^@/app"),
  ...features.map((own) =>
    floor([`src/features/${own}/**`], "^@/app", `^@/features/(?!${own}/)`, "^\\.\\./\\.\\./"),
  ),
);

import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules/", ".lab/", ".review/"] },
  js.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      // Numbers in messages are the point of this program; `${count} cards` needs no String().
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // 0 is a real value everywhere here (parked), so `||` on a number is a bug.
      "@typescript-eslint/prefer-nullish-coalescing": "error",
    },
  },
  {
    files: ["tests/**/*.ts"],
    rules: {
      // chai's assertions are property reads, mocha's callbacks are not awaited by the caller.
      "@typescript-eslint/no-unused-expressions": "off",
      "@typescript-eslint/no-floating-promises": "off",
    },
  },
);

import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist/", "src/gen/"] },
  ...tseslint.configs.strict,
  { rules: { "@typescript-eslint/no-non-null-assertion": "error" } },
);

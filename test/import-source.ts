import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

/**
 * A statement for the code of a child process: it imports these names from a module of `src/`, whose path goes without
 * its ending.
 */
export function importSource(module: string, ...names: readonly string[]): string {
  const [jiti, source] = [join(ROOT, "node_modules/jiti/lib/jiti.mjs"), join(ROOT, "src", `${module}.ts`)];
  return `const { ${names.join(", ")} } = await (await import(${JSON.stringify(jiti)}))
    .createJiti(${JSON.stringify(source)}, { fsCache: false }).import(${JSON.stringify(source)});`;
}

import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

/**
 * A statement for the code of a child process: it imports these names from a module of `src/`, whose path goes without
 * its ending. What was compiled is kept: compiling costs more than all that such a process does.
 */
export function importSource(module: string, ...names: readonly string[]): string {
  const [jiti, source] = [join(ROOT, "node_modules/jiti/lib/jiti.mjs"), join(ROOT, "src", `${module}.ts`)];
  const options = { fsCache: join(ROOT, "node_modules/.cache/jiti") };
  return `const { ${names.join(", ")} } = await (await import(${JSON.stringify(jiti)}))
    .createJiti(${JSON.stringify(source)}, ${JSON.stringify(options)}).import(${JSON.stringify(source)});`;
}

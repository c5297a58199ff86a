import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

/**
 * A statement for the code of a child process that imports these names from a module of `src/`. The module's path is
 * without its extension. The compiled code is cached, because compiling takes longer than everything else in such a
 * process.
 */
export function importSource(module: string, ...names: readonly string[]): string {
  const [jiti, source] = [join(ROOT, "node_modules/jiti/lib/jiti.mjs"), join(ROOT, "src", `${module}.ts`)];
  const options = { fsCache: join(ROOT, "node_modules/.cache/jiti") };
  return `const { ${names.join(", ")} } = await (await import(${JSON.stringify(jiti)}))
    .createJiti(${JSON.stringify(source)}, ${JSON.stringify(options)}).import(${JSON.stringify(source)});`;
}

import { defineConfig } from "rolldown";

/**
 * The scripts of the two pages: each one file without imports, put into a report or served by `art-e serve`. Libraries
 * stand beside them with their licences. Rooms below offer constants and functions beside zod schemas, which are
 * dropped: a page that came to need one would carry all of zod, so that ends the build.
 */
export default ["report", "playground"].map((page) =>
  defineConfig({
    input: `src/web/${page}/main.ts`,
    output: { file: `dist/web/${page}.js`, format: "iife", strict: true },
    treeshake: { moduleSideEffects: false, manualPureFunctions: ["z"] },
    plugins: [refuseLibraries()],
    platform: "node",
    logLevel: "warn",
  }),
);

function refuseLibraries() {
  return {
    name: "refuse-libraries",
    generateBundle(_options, bundle) {
      for (const { fileName, modules } of Object.values(bundle)) {
        const libraries = Object.keys(modules).filter(
          (id) => id.includes("node_modules") && modules[id].renderedLength > 0,
        );
        if (libraries.length > 0)
          this.error(`${fileName} would hold ${libraries[0]}: import its caller's file no more, or split it.`);
      }
    },
  };
}

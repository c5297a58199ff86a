// The process of an eval in TypeScript or JavaScript: loads the module, then calls its function for each trace that the
// parent process sends. The parent kills this process if a call takes too long.

// Ends with its parent, even if the parent was killed. If the kernel cannot do that, a loop in the eval delays it.
process.on("disconnect", () => process.exit());

const [path, jiti, alias] = process.argv.slice(2);

const text = (value) => String(value ?? "").slice(0, 500);
const describe = (error) =>
  text(error instanceof Error ? `${error.name}: ${error.message}`.replaceAll(path, "the file") : error);

// Node's permissions do not cover signals. A signal could end the parent process, or start its debugger, which runs code.
for (const method of ["kill", "_kill", "_debugProcess"]) delete process[method];

// The eval can replace them.
const send = process.send.bind(process);
const now = performance.now.bind(performance);

try {
  const { createJiti } = await import(jiti);
  const loaded = await createJiti(path, { fsCache: false, moduleCache: false, alias: JSON.parse(alias) }).import(path);
  const run = functionOf(loaded);
  process.on("message", async ({ id, input, output, trace }) => {
    const start = now();
    try {
      const result = await run(input, output, trace);
      if (typeof result !== "object" || result === null) {
        throw new TypeError(`it returned ${result === null ? "null" : typeof result}, expected {score, reason}`);
      }
      const { score, reason } = result;
      if (score !== null && !(typeof score === "number" && score >= 0 && score <= 1)) {
        throw new TypeError(
          `the score is ${typeof score === "number" ? score : typeof score}, expected 0 to 1 or null`,
        );
      }
      send({ id, ms: now() - start, score, reason: text(reason), error: null });
    } catch (error) {
      send({ id, ms: now() - start, score: null, reason: "", error: describe(error) });
    }
  });
  send({ loaded: true });
} catch (error) {
  send({ broken: describe(error) });
}

/** Returns the default export, or else the only exported function. */
function functionOf(loaded) {
  if (typeof loaded?.default === "function") return loaded.default;
  const functions = [...new Set(Object.values({ ...loaded?.default, ...loaded }))].filter(
    (value) => typeof value === "function",
  );
  if (functions.length === 1) return functions[0];
  throw new TypeError(`it exports ${functions.length} functions; export one, or make one the default export`);
}

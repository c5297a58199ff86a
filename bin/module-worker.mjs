// The thread of a tool's module: loads the file, describes it, and executes calls. The thread can be terminated when
// a call hangs, which a function in art-e's own thread could not be.
import { parentPort, workerData } from "node:worker_threads";

// Its output is not a result.
const words = (error) => (error instanceof Error ? error.message : String(error));

class MissingExport extends Error {}

try {
  const { createJiti } = await import(workerData.jiti);
  const { alias } = workerData;
  const jiti = createJiti(workerData.path, { fsCache: false, moduleCache: false, interopDefault: true, alias });
  const loaded = await jiti.import(workerData.path);
  const tool = typeof loaded?.default === "object" && loaded.default !== null ? loaded.default : loaded;
  if (typeof tool?.call !== "function") throw new MissingExport("it exports no function call(args, context)");
  const { name, description, parameters } = tool;
  parentPort.postMessage({ ready: JSON.parse(JSON.stringify({ name, description, parameters })) });
  parentPort.on("message", async ({ id, args, context }) => {
    try {
      const value = await tool.call(args, context);
      const text = JSON.stringify(value === undefined ? null : value);
      if (text === undefined) throw new Error("it gave back something that JSON cannot hold");
      if (text.length > workerData.maxChars)
        throw new Error(`its result has more than ${workerData.maxChars} characters`);
      parentPort.postMessage({ id, text });
    } catch (error) {
      parentPort.postMessage({ id, error: words(error) });
    }
  });
} catch (error) {
  parentPort.postMessage({ broken: words(error), missingExport: error instanceof MissingExport });
}

// Runs the functions of users' modules in worker threads, which are terminated when a call takes too long.
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import { type JsonObject, type JsonValue, jsonValueSchema } from "./json.js";
import { builtFile, programFile } from "./program-files.js";

const WORKER = programFile("bin/module-worker.mjs");

/** URL of the package that compiles TypeScript as it is loaded. */
export const JITI = pathToFileURL(createRequire(import.meta.url).resolve("jiti")).href;

/**
 * The files that a user's module gets when it imports `art-e`: functions that only give types, and exported evals. The
 * longer name comes first, because an alias also matches names that start with it.
 */
export const LIBRARY_ALIASES: Readonly<Record<string, string>> = {
  "art-e/evals": fileURLToPath(builtFile("library/evals.js")),
  "art-e": fileURLToPath(builtFile("library/define.js")),
};

/** Maximum number of characters in one result of a module. */
const MAX_CHARS = 10_000_000;

const messageSchema = z.union([
  z.object({ ready: z.record(z.string(), jsonValueSchema) }),
  z.object({ broken: z.string(), missingExport: z.boolean() }),
  z.object({ id: z.number(), text: z.string() }),
  z.object({ id: z.number(), error: z.string() }),
]);

interface ModuleStart {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

interface PendingCall {
  resolve(value: JsonValue): void;
  reject(error: unknown): void;
}

/** A failure to load or call a module. The message says why. */
export class ModuleFailed extends Error {
  override readonly name = "ModuleFailed";

  constructor(
    message: string,
    /** Whether the module was loaded but does not export `call`. */
    readonly lacksCall = false,
  ) {
    super(message);
  }
}

const STOPPED = "The module was stopped. Call again if you still need it.";

/** A module on its own thread. */
class LoadedModule {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, PendingCall>();
  /** The description of the module, once it is loaded. */
  readonly ready: Promise<JsonObject>;
  isGone = false;
  private calls = 0;

  constructor({ path, env }: ModuleStart) {
    this.worker = new Worker(WORKER, {
      workerData: { path, jiti: JITI, alias: LIBRARY_ALIASES, maxChars: MAX_CHARS },
      env: { ...env },
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    this.worker.stdout.resume();
    this.worker.stderr.resume();
    this.ready = new Promise((resolve, reject) => {
      this.worker.on("message", (message: unknown) => {
        const { data } = messageSchema.safeParse(message);
        if (data === undefined) return;
        if ("ready" in data) resolve(data.ready);
        else if ("broken" in data)
          reject(new ModuleFailed(`Cannot load the module: ${data.broken}`, data.missingExport));
        else this.answer(data);
      });
      const end = (error: ModuleFailed) => {
        this.isGone = true;
        reject(error);
        for (const { reject: fail } of this.waiting.values()) fail(error);
        this.waiting.clear();
      };
      this.worker.on("error", (error) => end(new ModuleFailed(`The module crashed: ${error.message}`)));
      this.worker.on("exit", (code) =>
        end(new ModuleFailed(this.isGone ? STOPPED : `The module exited with code ${code}.`)),
      );
    });
    this.ready.catch(() => undefined);
  }

  async call(args: JsonObject, context: JsonObject): Promise<JsonValue> {
    await this.ready;
    const id = ++this.calls;
    return new Promise((resolve, reject) => {
      if (this.isGone) return reject(new ModuleFailed(STOPPED));
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, args, context });
    });
  }

  async end(): Promise<void> {
    this.isGone = true;
    await this.worker.terminate();
  }

  private answer(reply: { id: number; text: string } | { id: number; error: string }): void {
    const waiting = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if ("error" in reply) waiting?.reject(new ModuleFailed(`The tool failed: ${reply.error}`));
    else waiting?.resolve(jsonValueSchema.parse(JSON.parse(reply.text)));
  }
}

/** The modules of a run. Each is loaded once, and again after it was terminated. */
export class ModuleWorkers {
  private readonly loaded = new Map<string, LoadedModule>();

  async describe(start: ModuleStart, signal: AbortSignal): Promise<JsonObject> {
    return this.use(start, signal, (module) => module.ready);
  }

  /** Calls a module. An abort terminates the thread, because nothing else stops a synchronous loop. */
  async call(start: ModuleStart, args: JsonObject, context: JsonObject, signal: AbortSignal): Promise<JsonValue> {
    return this.use(start, signal, (module) => module.call(args, context));
  }

  async close(): Promise<void> {
    await Promise.all([...this.loaded.values()].map((module) => module.end()));
  }

  private async use<T>(
    start: ModuleStart,
    signal: AbortSignal,
    work: (module: LoadedModule) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const module = this.module(start);
    const stop = () => void module.end();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await work(module);
    } finally {
      signal.removeEventListener("abort", stop);
      signal.throwIfAborted();
    }
  }

  private module(start: ModuleStart): LoadedModule {
    const key = JSON.stringify([start.path, start.env]);
    const existing = this.loaded.get(key);
    if (existing !== undefined && !existing.isGone) return existing;
    const fresh = new LoadedModule(start);
    this.loaded.set(key, fresh);
    return fresh;
  }
}

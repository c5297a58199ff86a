/**
 * Attempts of an eval in TypeScript to leave its process. Each is the body of an async function of `target`, and returns a
 * text if it reached something.
 */

/** Things outside of the process that attempts try to reach. */
export interface EscapeTarget {
  /** A file with a secret. */
  readonly secret: string;
  /** An SQLite database with the secret in the table `gold`. */
  readonly database: string;
  /** A folder to write files in. */
  readonly folder: string;
  /** A Unix socket that counts connections. */
  readonly socket: string;
  /** A TCP port on this machine that counts connections. */
  readonly port: number;
  /** Names of functions of built-in modules that reach files, programs, sockets or native code. */
  readonly dangerous: readonly string[];
}

/** Ways to a built-in module, as expressions of the module's name. */
const WAYS: Readonly<Record<string, (name: string) => string>> = {
  require: (name) => `require(${name})`,
  "import()": (name) => `await import(${name})`,
  "process.getBuiltinModule": (name) => `process.getBuiltinModule(${name})`,
  "module.constructor._load": (name) => `module.constructor._load(${name})`,
  "require.main": (name) => `require.main.require(${name})`,
  "process.mainModule": (name) => `process.mainModule.require(${name})`,
  "module.createRequire": (name) => `(await import("node:module")).createRequire("file:///x.js")(${name})`,
  "a data: URL": (name) =>
    `(await import("data:text/javascript,export default process.getBuiltinModule(" + encodeURIComponent(JSON.stringify(${name})) + ")")).default`,
  Function: (name) => `await Function("n", "return import(n)")(${name})`,
  "the constructor of an async function": (name) =>
    `await (async () => {}).constructor("n", "return await import(n)")(${name})`,
  "indirect eval": (name) => `await (0, eval)("import(" + JSON.stringify(${name}) + ")")`,
  "process.binding": (name) => `(process.binding("natives"), process.binding(String(${name}).replace("node:", "")))`,
  "process._linkedBinding": (name) => `process._linkedBinding(String(${name}).replace("node:", ""))`,
  vm: (name) => `(await import("node:vm")).runInThisContext("process").getBuiltinModule(${name})`,
  repl: (name) => `(await import("node:repl")).start({}).context.require(${name})`,
  "jiti's own import": (name) => `await jitiImport(${name})`,
  "a function that art-e passes": (name) => `jitiImport.constructor("return process")().getBuiltinModule(${name})`,
  "prepareStackTrace of a host frame": (name) => `(() => {
    const kept = Error.prepareStackTrace;
    Error.prepareStackTrace = (_: Error, sites: any[]) => sites;
    const sites = new Error().stack as any;
    Error.prepareStackTrace = kept;
    for (const site of sites) {
      const found = site.getThis()?.process ?? site.getFunction()?.constructor("return process")();
      if (found) return found.getBuiltinModule(${name});
    }
    throw new Error("no frame");
  })()`,
  "a patched emitter": (name) => `await (async () => {
    const { EventEmitter } = await import("node:events");
    let host: any = null;
    for (const method of ["emit", "on", "listenerCount"]) {
      const kept = (EventEmitter.prototype as any)[method];
      (EventEmitter.prototype as any)[method] = function (...args: any[]) { if (this.pid) host = this; return kept.apply(this, args); };
    }
    process.emitWarning("x");
    await new Promise((resolve) => setTimeout(resolve, 20));
    return host.getBuiltinModule(${name});
  })()`,
  "a polluted prototype": (name) => `await (async () => {
    let host: any = null;
    for (const key of ["noDeprecation", "throwDeprecation", "env", "report"]) {
      Object.defineProperty(Object.prototype, key, { configurable: true, get() { if (this?.versions) host = this; return undefined; } });
    }
    process.emitWarning("x", "DeprecationWarning");
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (const key of ["noDeprecation", "throwDeprecation", "env", "report"]) delete (Object.prototype as any)[key];
    return host.getBuiltinModule(${name});
  })()`,
};

/** Uses of modules, as statements that return a text if they reached the target. `m` is the module. */
const USES: readonly (readonly [name: string, use: string])[] = [
  ["node:fs", `return m.readFileSync(target.secret, "utf8");`],
  ["node:fs", `m.writeFileSync(target.folder + "/written", "x"); return "wrote";`],
  [
    "node:sqlite",
    `return JSON.stringify(new m.DatabaseSync(target.database).prepare("SELECT answer FROM gold").all());`,
  ],
  [
    "node:net",
    `return await new Promise((resolve, reject) => { m.connect({ path: target.socket }, () => resolve("connected")).on("error", reject); });`,
  ],
];

const viaModules = USES.flatMap(([module, use], i) =>
  Object.entries(WAYS).map(([way, expression]): [string, string] => [
    `${module} (${i + 1}) through ${way}`,
    `const m: any = ${expression(JSON.stringify(module))}; ${use}`,
  ]),
);

const tcp = `"http://127.0.0.1:" + target.port`;
const connected = (expression: string) =>
  `return await new Promise((resolve, reject) => { const s: any = ${expression}; s.onopen = () => resolve("open"); s.onerror = () => reject(new Error("closed")); });`;

const DIRECT: readonly (readonly [string, string])[] = [
  ["fetch", `return String((await fetch(${tcp})).status);`],
  ["WebSocket", connected(`new WebSocket(${tcp}.replace("http", "ws"))`)],
  ["EventSource", connected(`new (globalThis as any).EventSource(${tcp})`)],
  [
    "http",
    `const m: any = await import("node:http"); return await new Promise((r, j) => m.get(${tcp}, () => r("open")).on("error", j));`,
  ],
  ["dgram", `const m: any = await import("node:dgram"); m.createSocket("udp4").send("x", target.port); return "sent";`],
  ["dns", `const m: any = await import("node:dns"); return JSON.stringify(await m.promises.lookup("localhost"));`],
  [
    "child_process",
    `const m: any = await import("node:child_process"); return m.execFileSync("/bin/cat", [target.secret], { encoding: "utf8" });`,
  ],
  [
    "worker_threads",
    `const m: any = await import("node:worker_threads"); new m.Worker("require('fs').writeFileSync(" + JSON.stringify(target.folder + "/worker") + ", 'x')", { eval: true }); await new Promise((r) => setTimeout(r, 300)); return "";`,
  ],
  ["globalThis.Worker", `new (globalThis as any).Worker("data:text/javascript,1"); return "started";`],
  ["inspector", `const m: any = await import("node:inspector"); m.open(0); return m.url();`],
  [
    "wasi",
    `const m: any = await import("node:wasi"); new m.WASI({ version: "preview1", preopens: { "/": target.folder } }); return "opened";`,
  ],
  ["WebAssembly", `return String(new WebAssembly.Memory({ initial: 1 }).buffer.byteLength);`],
  ["ffi", `const m: any = await import("node:ffi" as string); return Object.keys(m).join();`],
  ["process.dlopen", `process.dlopen({ exports: {} } as any, "/lib/x86_64-linux-gnu/libc.so.6"); return "loaded";`],
  ["process.report", `process.report.writeReport(target.folder + "/report.json"); return "wrote";`],
  ["process.kill", `process.kill(process.ppid ?? 1, 0); return "signaled";`],
  ["process._debugProcess", `(process as any)._debugProcess(process.ppid); return "signaled";`],
  ["process.chdir", `process.chdir(target.folder); return process.cwd();`],
  ["process.loadEnvFile", `process.loadEnvFile(target.secret); return JSON.stringify(process.env);`],
  ["process.env", `if (Object.keys(process.env).length > 0) return JSON.stringify(process.env); return "";`],
  ["process.setuid", `process.setuid!(0); return "root";`],
  [
    "active handles",
    `const found = (process as any)._getActiveHandles(); return found.map((h: any) => h.constructor.name).join();`,
  ],
  ["open descriptors", `const m: any = await import("node:fs"); m.writeSync(1, "garbage\\n"); return "wrote";`],
  ["descriptor 3", `const m: any = await import("node:fs"); m.writeSync(3, "garbage\\n"); return "wrote";`],
  ["the output stream", `(process.stdout as any)._handle.writeUtf8String({}, "garbage\\n"); return "wrote";`],
  ["console's stream", `(console as any)._stdout.write("garbage\\n"); return "wrote";`],
  ["process.send", `process.send!({ id: 1, ms: 0, score: 1, reason: "", error: null }); return "sent";`],
  ["localStorage", `localStorage.setItem("x", "y"); return "stored";`],
  ["BroadcastChannel", `new BroadcastChannel("x").postMessage("x"); return "sent";`],
  ["crypto's engines", `const m: any = await import("node:crypto"); m.setEngine("/tmp/engine.so"); return "loaded";`],
  [
    "a source file in a failed assertion",
    `const m: any = await import("node:assert"); try { m.ok(false); } catch (error: any) { if (/secret/.test(error.message)) return error.message; } return "";`,
  ],
  [
    "an import attribute",
    `return JSON.stringify((await import("file://" + target.secret, { with: { type: "json" } } as any)).default);`,
  ],
  ["a relative import", `return String((await import("../../../../.." + target.secret)).default);`],
  ["the evals library", `const m: any = await import("art-e/evals"); return m.readFileSync(target.secret, "utf8");`],
  [
    "everything in reach",
    `const bad = new Set(target.dangerous);
    const seen = new Set<any>();
    const reached = new Set<string>();
    const next: any[] = [globalThis, process, require, module, exports, (async () => {}), function* () {}, (error: any) => error];
    for (const name of ["assert", "buffer", "crypto", "events", "path", "process", "querystring", "string_decoder", "timers", "url", "util", "timers/promises"]) next.push(require(name));
    const hash: any = require("crypto").createHash("sha256");
    next.push(setTimeout(() => {}, 0), setImmediate(() => {}), hash, new AbortController(), new URL("x:y"), new TextDecoder(), performance, new Error("x"));
    try { null!.x; } catch (error) { next.push(error); }
    while (next.length > 0 && seen.size < 200_000) {
      const value = next.pop();
      if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
      seen.add(value);
      if (typeof value === "function" && bad.has(value.name)) reached.add(value.name);
      next.push(Object.getPrototypeOf(value));
      if (value instanceof Map || value instanceof Set) next.push(...value.keys(), ...value.values());
      for (const key of Reflect.ownKeys(value)) {
        const found = Object.getOwnPropertyDescriptor(value, key)!;
        next.push(found.get, found.set, found.value);
        if (found.get) try { next.push(value[key]); } catch {}
      }
    }
    if (seen.size < 1_000) return "the search is broken";
    return [...reached].join();`,
  ],
];

export const ATTEMPTS: readonly (readonly [name: string, body: string])[] = [...viaModules, ...DIRECT];

/** An eval that makes attempt N for the trace with task id N. It scores 1 if the attempt reached something. */
export const ESCAPING_EVAL = `
const attempts: ((target: any) => Promise<any>)[] = [
${ATTEMPTS.map(([, body]) => `async (target: any): Promise<any> => {\n${body}\n}`).join(",\n")}
];
export default async (input: any, output: string): Promise<any> => {
  const found = await attempts[input.taskId]!(JSON.parse(output));
  return { score: found ? 1 : 0, reason: String(found) };
};`;

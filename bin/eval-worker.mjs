// The process of an eval in TypeScript or JavaScript. Reads one JSON document per line from descriptor 0: first the
// code, then the arguments for each trace. Answers each with one line on descriptor 1.
//
// The operating system's sandbox and Node's permissions isolate this process. Where they are missing or have gaps (Node
// 20 to 24 do not restrict sockets, and Node 24's SQLite ignores permissions), only this file does: the eval gets
// the built-in modules, globals and members of `process` that are listed here, and cannot compile code from strings,
// in which it could write `import()`.
import assert from "node:assert";
import buffer from "node:buffer";
import crypto from "node:crypto";
import events from "node:events";
import { closeSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import querystring from "node:querystring";
import stringDecoder from "node:string_decoder";
import timers from "node:timers";
import timersPromises from "node:timers/promises";
import url from "node:url";
import util from "node:util";
import vm from "node:vm";

const FILE = "eval.ts";
const [jiti, library, ready] = process.argv.slice(2);

const pick = (object, names) =>
  Object.fromEntries(names.filter((name) => name in object).map((name) => [name, object[name]]));

/** Built-in modules that only compute. */
const BUILT_IN = {
  assert,
  "assert/strict": assert.strict,
  buffer: pick(buffer, ["Buffer", "constants", "kMaxLength", "isAscii", "isUtf8", "atob", "btoa"]),
  // Others load programs (`setEngine`) and certificates.
  crypto: pick(crypto, [
    "createHash",
    "createHmac",
    "getHashes",
    "hash",
    "randomBytes",
    "randomInt",
    "randomUUID",
    "timingSafeEqual",
  ]),
  events,
  path,
  "path/posix": path.posix,
  "path/win32": path.win32,
  process,
  querystring,
  string_decoder: stringDecoder,
  timers,
  "timers/promises": timersPromises,
  url: pick(url, [
    "URL",
    "URLSearchParams",
    "parse",
    "format",
    "resolve",
    "domainToASCII",
    "domainToUnicode",
    "fileURLToPath",
    "pathToFileURL",
  ]),
  util,
  "util/types": util.types,
};

/** Globals in addition to those of the language. */
const GLOBALS = [
  ["global", "process", "console", "Buffer", "URL", "URLSearchParams", "URLPattern", "TextEncoder", "TextDecoder"],
  ["AbortController", "AbortSignal", "Event", "EventTarget", "CustomEvent", "DOMException", "atob", "btoa"],
  ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "clearImmediate"],
  ["queueMicrotask", "structuredClone", "performance", Symbol.toStringTag],
].flat();

/** Members of `process`. Node needs some of them itself. The others reach files, programs, signals and native code. */
const PROCESS = [
  ["version", "versions", "arch", "platform", "release", "pid", "argv0", "features", "exitCode", "permission"],
  ["exit", "reallyExit", "nextTick", "emitWarning", "hrtime", "uptime", "cpuUsage", "memoryUsage", "cwd"],
  ["_events", "_eventsCount", "_maxListeners", "_exiting", "domain"],
].flat();

const MAX_TEXT = 500;
const text = (value) => String(value ?? "").slice(0, MAX_TEXT);

/** Returns the text of a thrown value. Never throws, whatever the value is. */
function describe(error) {
  try {
    const message = error instanceof Error ? `${error.name}: ${error.message}`.replaceAll(FILE, "the file") : error;
    return text(message) || `it threw ${typeof error}`;
  } catch {
    return "it threw a value that cannot be read";
  }
}

const now = performance.now.bind(performance);
// A promise that never settles must not end the process before the parent has measured its time.
setInterval(() => undefined, 1_000_000);

/** Returns the next line of descriptor 0, or null at its end. Blocks, so that no handle of the pipe is in reach. */
function readLine() {
  for (;;) {
    const end = rest.indexOf(0x0a);
    if (end !== -1) {
      const line = rest.subarray(0, end);
      rest = rest.subarray(end + 1);
      return JSON.parse(line);
    }
    const parts = [rest];
    for (let found = false; !found; ) {
      const chunk = Buffer.allocUnsafe(1 << 16);
      const length = readSync(0, chunk, 0, chunk.length, null);
      if (length === 0) return null;
      const part = chunk.subarray(0, length);
      parts.push(part);
      found = part.includes(0x0a);
    }
    rest = Buffer.concat(parts);
  }
}
let rest = Buffer.alloc(0);

function writeLine(value) {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

/** Compiles the code and loads art-e's library. Nothing of the eval runs yet. */
async function prepare(source) {
  const { createJiti } = await import(jiti);
  const code = createJiti(import.meta.url, { fsCache: false }).transform({
    source,
    filename: FILE,
    ts: true,
    async: true,
  });
  const files = JSON.parse(library);
  const modules = { ...BUILT_IN };
  for (const [name, file] of Object.entries(files)) if (code.includes(name)) modules[name] = await import(file);
  const parameters = "exports, require, module, __filename, __dirname, jitiImport, jitiESMResolve";
  // Without a callback for it, `import()` is rejected in this script.
  return { run: vm.runInThisContext(`(async (${parameters}) => {${code}\n})`, { filename: FILE }), modules };
}

/** Removes everything that is not listed above. Throws if something cannot be removed. */
function lock() {
  const language = new Set(vm.runInNewContext("Reflect.ownKeys(globalThis)"));
  language.delete("WebAssembly");
  const silent = {};
  for (const name of Object.keys(console)) if (typeof console[name] === "function") silent[name] = () => undefined;
  keepOnly(process, PROCESS);
  keepOnly(globalThis, [...language, ...GLOBALS]);
  const output = () => ({
    isTTY: false,
    columns: 80,
    getColorDepth: () => 1,
    hasColors: () => false,
    write: () => true,
  });
  const members = { env: {}, argv: [], execArgv: [], stdout: output(), stderr: output() };
  for (const [name, value] of Object.entries(members)) Object.defineProperty(process, name, { value, writable: true });
  Object.defineProperty(globalThis, "console", { value: silent, writable: true, configurable: true });
}

function keepOnly(object, names) {
  const kept = new Set(names);
  for (const key of Reflect.ownKeys(object)) {
    if (kept.has(key) || (typeof key === "symbol" && object === process)) continue;
    if (!Reflect.deleteProperty(object, key)) throw new Error(`this version of Node keeps ${String(key)} in reach`);
  }
}

function requireFrom(modules) {
  return (name) => {
    const key = String(name).replace(/^node:/, "");
    if (Object.hasOwn(modules, key)) return modules[key];
    throw new Error(`Cannot import ${text(name)}: an eval can import ${Object.keys(modules).join(", ")}`);
  };
}

/** Returns the default export, or else the only exported function. */
function functionOf(loaded) {
  if (typeof loaded?.default === "function") return loaded.default;
  if (typeof loaded === "function") return loaded;
  const functions = [...new Set(Object.values({ ...loaded?.default, ...loaded }))].filter(
    (value) => typeof value === "function",
  );
  if (functions.length === 1) return functions[0];
  throw new TypeError(`it exports ${functions.length} functions; export one, or make one the default export`);
}

async function load(source) {
  const { run, modules } = await prepare(source);
  lock();
  const module = { exports: {} };
  const require = requireFrom(modules);
  const importModule = async (name) => require(name);
  const resolve = (name) => text(name);
  await run(module.exports, require, module, FILE, "", importModule, resolve);
  const wrong = module.exports?.__JITI_ERROR__;
  if (wrong !== undefined) throw new Error(`${wrong.code}: ${wrong.message}\n ${FILE}:${wrong.line}:${wrong.column}`);
  return functionOf(module.exports);
}

async function outcomeOf(run, { id, input, output, trace }) {
  const start = now();
  try {
    const result = await run(input, output, trace);
    if (typeof result !== "object" || result === null) {
      throw new TypeError(`it returned ${result === null ? "null" : typeof result}, expected {score, reason}`);
    }
    const { score, reason } = result;
    if (score !== null && !(typeof score === "number" && score >= 0 && score <= 1)) {
      throw new TypeError(`the score is ${typeof score === "number" ? score : typeof score}, expected 0 to 1 or null`);
    }
    return { id, ms: now() - start, score, reason: text(reason), error: null };
  } catch (error) {
    return { id, ms: now() - start, score: null, reason: "", error: describe(error) };
  }
}

if (ready !== undefined) {
  writeSync(Number(ready), "1");
  closeSync(Number(ready));
}
const first = readLine();
const exit = process.reallyExit.bind(process);
if (first === null) exit(0);
try {
  const run = await load(first.code);
  writeLine({ loaded: true });
  for (let request = readLine(); request !== null; request = readLine()) writeLine(await outcomeOf(run, request));
} catch (error) {
  writeLine({ broken: describe(error) });
}
exit(0);

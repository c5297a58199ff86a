import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { afterAll, describe, expect, it } from "vitest";
import type { EvaluatedTrace } from "../../src/evals/definition.js";
import type { MeasuredOutcome } from "../../src/evals/eval-outcome.js";
import { importSource } from "../import-source.js";
import { needs } from "../machine-requirements.js";
import { trace } from "../scoring/trace.js";
import { ATTEMPTS, ESCAPING_EVAL, type EscapeTarget } from "./typescript-escapes.js";

/** Programs of Node to test: this one, and others that ART_E_NODES names, separated by colons. */
const NODES = [process.execPath, ...(process.env.ART_E_NODES ?? "").split(":").filter((path) => path !== "")];

const SECRET = "the secret gold answer";
const folder = mkdtempSync(join(tmpdir(), "art-e-escapes-"));
const writable = mkdtempSync(join(tmpdir(), "art-e-escapes-"));
let connections = 0;
const servers = [0, join(folder, "socket")].map((where) => createServer(() => connections++).listen(where));
await Promise.all(servers.map((server) => once(server, "listening")));
afterAll(() => {
  for (const server of servers) server.close();
  for (const path of [folder, writable]) rmSync(path, { recursive: true, force: true });
});

writeFileSync(join(folder, "secret"), SECRET);
const database = new Database(join(folder, "gold.db"));
database.exec(`CREATE TABLE gold (answer TEXT); INSERT INTO gold VALUES ('${SECRET}')`);
database.close();

/** Names of the functions of built-in modules that do more than compute, without names that others have, too. */
function dangerousNames(): string[] {
  const require = createRequire(import.meta.url);
  const namesOf = (modules: string) =>
    modules.split(" ").flatMap((name) => {
      const all = Object.entries(require(name));
      return all.flatMap(([key, value]) => (typeof value === "function" ? key : []));
    });
  // The language itself, buffers and `process` have functions of these names.
  const common = "constructor get reverse write uptime register exec link Stream".split(" ");
  const harmless = new Set([...namesOf("assert buffer crypto events path querystring timers url util"), ...common]);
  const own =
    "binding _linkedBinding dlopen getBuiltinModule kill _debugProcess chdir Pipe TCP FSReqCallback DatabaseSync";
  const modules =
    "child_process cluster dgram dns fs fs/promises http http2 https inspector module net os repl tls vm wasi";
  return [...namesOf(modules), ...own.split(" ")].filter((name) => !harmless.has(name));
}

const target: EscapeTarget = {
  secret: join(folder, "secret"),
  database: join(folder, "gold.db"),
  folder: writable,
  socket: join(folder, "socket"),
  port: (servers[0]?.address() as AddressInfo | undefined)?.port ?? 0,
  dangerous: dangerousNames(),
};

const traces = ATTEMPTS.map(
  (_, taskId): EvaluatedTrace => ({
    ...trace({ taskId, answer: JSON.stringify(target) }, {}),
    scores: {},
  }),
);

/** Runs all attempts in a process of another Node. */
async function outcomesUnder(node: string, isolation: string): Promise<MeasuredOutcome[]> {
  const program = `
    ${importSource("evals/run-evals/run-typescript-evals", "runTypescriptEval", "typescriptIsolation")}
    import { readFileSync } from "node:fs";
    const { code, traces } = JSON.parse(readFileSync(${JSON.stringify(join(folder, "request.json"))}, "utf8"));
    const isolation = ${isolation};
    if (isolation.kind === "permissions" && isolation.why !== "") throw new Error(isolation.why);
    const outcomes = await runTypescriptEval({ code, reference: false }, traces, isolation, new AbortController().signal);
    console.log(JSON.stringify(outcomes));`;
  writeFileSync(join(folder, "request.json"), JSON.stringify({ code: ESCAPING_EVAL, traces }));
  const { stdout } = await promisify(execFile)(node, ["--input-type=module", "-e", program], { maxBuffer: 2 ** 26 });
  return JSON.parse(stdout);
}

const ISOLATIONS = [
  ["bubblewrap", "await typescriptIsolation()"],
  ["Node's permissions alone", '{ kind: "permissions", why: "" }'],
] as const;

describe.each(NODES)("an eval in TypeScript under %s", (node) => {
  it.each(ISOLATIONS)("reaches nothing outside its process with %s", needs("linux"), async (_, isolation) => {
    connections = 0;
    const outcomes = await outcomesUnder(node, isolation);
    expect(outcomes).toHaveLength(ATTEMPTS.length);
    const escaped = outcomes.flatMap(({ score, reason, error }, i) =>
      score !== 0 && error === null ? [`${ATTEMPTS[i]?.[0]}: ${reason.slice(0, 200)}`] : [],
    );
    const unrun = outcomes.flatMap(({ error }) => (/^not run|could not be loaded/.test(error ?? "") ? [error] : []));
    expect({ escaped, unrun, connections, written: readdirSync(writable).map((path) => basename(path)) }).toEqual({
      escaped: [],
      unrun: [],
      connections: 0,
      written: [],
    });
    expect(JSON.stringify(outcomes)).not.toContain(SECRET);
  });
});

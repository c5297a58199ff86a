import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import type { Readable } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { LostTraces } from "../../src/evals/run-evals/lost-traces.js";
import {
  describeTypescript,
  runTypescriptEval,
  typescriptIsolation,
} from "../../src/evals/run-evals/run-typescript-evals.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { importSource } from "../import-source.js";
import { needs, slow } from "../machine-requirements.js";
import { gone, isThere } from "../platform/processes.js";
import { called, trace } from "../scoring/trace.js";

const never = new AbortController().signal;

const traceOf = (i: number): QuestionTrace => ({
  ...trace(
    { answer: `answer ${i}`, taskId: i, toolCalls: [called("email_search", { emails: [] })] },
    { answer: "gold" },
  ),
  scores: { semanticScore: { value: 0.25 } },
});
const traces = Array.from({ length: 8 }, (_, i) => traceOf(i));

const isolation = await typescriptIsolation();

const run = (code: string, { reference = false, over = traces, signal = never } = {}) =>
  runTypescriptEval({ code, reference }, over, isolation, signal);

/** Returns a module whose exported function has this body. */
const body = (text: string) =>
  `export async function evaluate(input: any, output: string, trace: any): Promise<any> {\n${text}\n}`;

describe("LostTraces", () => {
  it.each([
    ["4 lost traces in a row", [4, 0], null],
    ["5 lost traces in a row", [5, 0], 5],
    ["24 lost traces, half of the traces", [0, 24], null],
    ["25 lost traces, half of the traces", [0, 25], 25],
  ])("decides after %s whether to stop", (_, [inARow = 0, alternating = 0], stopsAfter) => {
    const lost = new LostTraces();
    for (let i = 0; i < 2 * alternating; i++) lost.add(i % 2 === 0);
    for (let i = 0; i < inARow; i++) lost.add(true);
    const reason = `not run: the eval timed out or died on ${stopsAfter} earlier traces`;
    expect(lost.reasonToStop).toBe(stopsAfter === null ? null : reason);
  });
});

describe("runTypescriptEval", () => {
  it("runs a function as the benchmark's documents write it", async () => {
    const [first] = await run(
      `// Checks the key terms.
      export async function evalEmailSubjectRetrieval(
        input: { question: string; inbox: string; date: string },
        output: string
      ): Promise<{ score: number; reason: string }> {
        const expected = ['answer', 'budget', 'report'];
        const found = expected.filter((word) => output.toLowerCase().includes(word));
        return { score: found.length / expected.length, reason: \`found \${found.length} of \${expected.length} in \${input.inbox}\` };
      }`,
      { over: traces.slice(0, 1) },
    );
    const inbox = traces[0]?.task.inbox_address;
    expect(first).toMatchObject({ score: 1 / 3, reason: `found 1 of 3 in ${inbox}`, error: null, costUsd: 0 });
  });

  it("scores each trace with the returned value, or null", async () => {
    const code = `export default (input: { taskId: number }, output: string) =>
      input.taskId % 2 ? { score: null, reason: "odd" } : { score: input.taskId / 10, reason: output };`;
    const outcomes = await run(code);
    expect(outcomes.map(({ score }) => score)).toEqual([0, null, 0.2, null, 0.4, null, 0.6, null]);
    expect(outcomes[1]).toMatchObject({ reason: "odd", error: null });
    expect(outcomes[2]).toMatchObject({ reason: "answer 2", error: null });
  });

  it("runs a function typed with defineEval, which it can import from art-e", async () => {
    const code = `import { defineEval } from "art-e";
      export default defineEval(({ question }, output) => ({ score: output.length > 0 ? 1 : 0, reason: question }));`;
    const [first] = await run(code, { over: traces.slice(0, 1) });
    expect(first).toMatchObject({ score: 1, reason: traces[0]?.task.question, error: null });
  });

  it("passes the trace, and gold answers and scores only to a reference eval", async () => {
    const code = body("return { score: 1, reason: JSON.stringify([input, Object.keys(trace).sort()]) };");
    const [plain] = await run(code, { over: traces.slice(0, 1) });
    expect(plain?.reason).not.toMatch(/gold|semanticScore|judge|"scores"/);
    expect(plain?.reason).toContain('"toolCalls"');
    const [reference] = await run(code, { reference: true, over: traces.slice(0, 1) });
    expect(reference?.reason).toMatch(/"expected_output":"gold".*"semanticScore"/);
  });

  describe("of which some traces fail", () => {
    const FAULTS: readonly (readonly [what: string, code: string, error: string | RegExp])[] = [
      ["returns NaN", "return { score: NaN, reason: '' };", "TypeError: the score is NaN, expected 0 to 1 or null"],
      ["returns more than 1", "return { score: 7, reason: '' };", "TypeError: the score is 7, expected 0 to 1 or null"],
      [
        "returns a string",
        "return { score: '1', reason: '' };",
        "TypeError: the score is string, expected 0 to 1 or null",
      ],
      ["returns a number", "return 1;", "TypeError: it returned number, expected {score, reason}"],
      ["returns nothing", "return;", "TypeError: it returned undefined, expected {score, reason}"],
      ["throws", "throw new RangeError('no');", "RangeError: no"],
      ["throws nothing", "throw undefined;", "it threw undefined"],
      ["throws an object without a prototype", "throw Object.create(null);", "it threw a value that cannot be read"],
      ["ends the process", "process.exit(3);", "its process exited with code 3"],
      ["loops", "for (;;);", "it took more than 5 s"],
      ["never answers", "await new Promise(() => {});", "it took more than 5 s"],
      // On a slow machine, the time limit comes first.
      [
        "takes all memory",
        "const all = []; for (;;) all.push(new Array(1e6).fill(0.5));",
        /ran out of memory|took more than 5 s/,
      ],
      [
        "reads a file",
        "require('node:fs').readFileSync('/etc/hostname');",
        "Error: Cannot import node:fs: an eval can import assert, ",
      ],
      [
        "starts a program",
        "require('node:child_process').execSync('id');",
        "Error: Cannot import node:child_process: an eval can import ",
      ],
      ["ends its parent", "process.kill(process.ppid, 'SIGKILL');", "TypeError: process.kill is not a function"],
      [
        "starts its parent's debugger",
        "require('node:process')._debugProcess(process.ppid);",
        "TypeError: require(...)._debugProcess is not a function",
      ],
      [
        "forges an outcome",
        "process.send({ id: 99, ms: 0, score: 1, reason: '', error: null }); for (;;);",
        "TypeError: process.send is not a function",
      ],
    ];
    let outcomes: Awaited<ReturnType<typeof run>> = [];

    // One run for all faults: each start of a process takes longer than its traces.
    beforeAll(async () => {
      const cases = FAULTS.map(([, code], i) => `case ${2 * i}: { ${code} break; }`).join("\n");
      const over = Array.from({ length: 2 * FAULTS.length }, (_, i) => traceOf(i));
      outcomes = await run(body(`switch (input.taskId) { ${cases} }\nreturn { score: 1, reason: "" };`), { over });
    });

    it.each(FAULTS.map(([what, , error], i) => [what, error, i] as const))(
      "records an error for a trace on which the code %s, and continues",
      (_, error, i) => {
        expect(outcomes[2 * i]?.error).toMatch(error);
        expect(outcomes[2 * i]?.score).toBeNull();
        expect(outcomes[2 * i + 1]).toMatchObject({ score: 1, error: null });
      },
    );
  });

  it("reports each outcome, including the outcome of a trace that ended the process", async () => {
    let outcomes = 0;
    const code = body("if (input.taskId === 3) process.exit(3);\nreturn { score: 1, reason: '' };");
    await runTypescriptEval({ code, reference: false }, traces, isolation, never, () => outcomes++);
    expect(outcomes).toBe(8);
  });

  it("gives the code no environment variables", async () => {
    process.env.ART_E_TEST_SECRET = "secret-value";
    const [first] = await run(body("return { score: 1, reason: JSON.stringify(process.env) };"));
    delete process.env.ART_E_TEST_SECRET;
    expect(first?.reason).toBe("{}");
  });

  it("stops its clock while other programs use the processors", slow(needs("linux")), async () => {
    const others = Array.from({ length: 3 * availableParallelism() }, () =>
      spawn(process.execPath, ["-e", "for (;;);"], { detached: true }),
    );
    try {
      // Uses 2.5 seconds of its processor, which take three times as long.
      const used = "Object.values(process.cpuUsage()).reduce((sum, one) => sum + one)";
      const busy = `const end = ${used} + 2_500_000; while (${used} < end);`;
      const [first] = await run(body(`${busy} return { score: 1, reason: "" };`), { over: traces.slice(0, 1) });
      expect(first).toMatchObject({ score: 1, error: null });
    } finally {
      for (const other of others) other.kill("SIGKILL");
    }
  });

  it("stops after five traces in a row that end the process", async () => {
    const outcomes = await run(body("process.exit(1);"));
    expect(outcomes.map(({ error }) => error)).toEqual([
      ...Array.from({ length: 5 }, () => "its process exited with code 1"),
      ...Array.from({ length: 3 }, () => "not run: the eval timed out or died on 5 earlier traces"),
    ]);
  });

  it.each([
    ["does not compile", "export function evaluate( {", /SyntaxError|ParseError/],
    ["exports two functions", "export const a = () => 1; export const b = () => 2;", /it exports 2 functions/],
    ["cannot be parsed", "export default function ( {", /^Error: ParseError: Unexpected token\s+the file:1:\d+$/],
    ["exports none", "export const a = 1;", /it exports 0 functions/],
    ["throws when it is loaded", "throw new Error('not today'); export const a = () => 1;", /not today/],
  ])("fails on every trace if the module %s", async (_, code, why) => {
    const outcomes = await run(code);
    expect(outcomes).toHaveLength(8);
    for (const { score, error } of outcomes) {
      expect(score).toBeNull();
      expect(error).toMatch(why);
    }
  });

  it("throws the signal's reason, and leaves no process", async () => {
    const reason = new Error("stopped");
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 300);
    await expect(run(body("for (;;);"), { signal: controller.signal })).rejects.toBe(reason);
  });

  it("leaves no process behind if the program is killed while an eval loops", needs("linux"), async () => {
    const loop = JSON.stringify({ code: body("for (;;);"), reference: false });
    const program = `
      ${importSource("evals/run-evals/run-typescript-evals", "runTypescriptEval", "typescriptIsolation")}
      import { readFileSync } from "node:fs";
      void runTypescriptEval(${loop}, ${JSON.stringify(traces)}, await typescriptIsolation(), new AbortController().signal);
      const childrenOf = (pid) => {
        const found = readFileSync("/proc/" + pid + "/task/" + pid + "/children", "utf8").split(" ").filter(Boolean);
        return [...found, ...found.flatMap(childrenOf)];
      };
      const busyMs = (pid) => Number(readFileSync("/proc/" + pid + "/schedstat", "utf8").split(" ")[0]) / 1e6;
      setInterval(() => {
        const found = childrenOf(process.pid).find((pid) => busyMs(pid) > 1_000);
        if (found !== undefined) console.log(found);
      }, 100);`;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [text] = (await once(parent.stdout as Readable, "data")) as [Buffer];
    const pid = Number.parseInt(String(text), 10);
    expect(isThere(pid)).toBe(true);
    parent.kill("SIGKILL");
    await gone(pid);
  });
});

it.each([
  ["export async function evalX(input, output) { return { score: 1, reason: '' }; }", null, false],
  ["/** The answer is short. */\nexport function short(input: any, output: string) {}", "The answer is short.", false],
  [
    "export const reference = true;\n/**\n * The answer is right.\n *\n * Compares it.\n */\nexport default ({ reference }) => ({})",
    "The answer is right.",
    true,
  ],
  ["/** Right. */\nexport default ({ reference }) => ({})\nexport const reference: boolean = true", "Right.", true],
  ["/** Right. */\nexport default ({ reference }) => ({})", "Right.", false],
  [`/** ${"a".repeat(1_000)}b */\nexport default () => ({})`, "a".repeat(1_000), false],
  ["/* off:\nexport const reference = true;\n*/\nexport default () => ({})", null, false],
  ["// without a reference\nexport const check = async (input, output) => ({ score: 1, reason: '' });", null, false],
  ["import x from 'y'; let n = 0; export default function f(input, output) { return n; }", null, false],
  ["module.exports = (input, output) => ({ score: 1, reason: '' });", null, false],
])("describeTypescript describes code %# without running it", (code, criterion, reference) => {
  expect(describeTypescript(code)).toEqual({ criterion, reference });
});

it.each(["function local() {}", "const x = 1;", "export const x = 1;"])(
  "describeTypescript returns null for code %# without an exported function",
  (code) => {
    expect(describeTypescript(code)).toBeNull();
  },
);

it.each([
  ["empty lines", "\n".repeat(99_000)],
  ["unclosed comments", "/** ".repeat(25_000)],
  ["spaces before an export", `${";".padEnd(99_000)}export`],
  ["an export without a function", `export const a ${"b".repeat(99_000)}`],
  ["comments around an export", `export default () => 1;\n${"/* ".repeat(33_000)}`],
])("describeTypescript reads 100 kB in linear time (%s)", (_, code) => {
  const start = performance.now();
  describeTypescript(code);
  expect(performance.now() - start).toBeLessThan(1_000);
});

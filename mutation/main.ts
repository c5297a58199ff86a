import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { seededRandom } from "../src/statistics/seeded-random.js";
import { Checkout, type MutantOutcome } from "./checkout.js";
import { type Mutant, mutantsOf } from "./mutants.js";

// Mutation testing: a seeded sample of small changes to the modules whose results people trust. Each change must
// make a test fail. Survivors are printed and need a reason in survivors.json.

/** Tests that must kill the mutants of a module or file, its own tests first. */
const TESTS_OF: Readonly<Record<string, readonly string[]>> = {
  scoring: ["test/scoring/", "test/analysis/"],
  "text/dates-and-numbers.ts": ["test/text/", "test/scoring/"],
  "text/word-overlap.ts": ["test/scoring/"],
  evals: [
    "test/evals/",
    "test/statistics/",
    "test/error-analysis/",
    "test/reports/eval-page.test.ts",
    "test/scoring/score-saved-traces.test.ts",
    "test/server/chat-evals.test.ts",
    "test/server/evals-page.test.ts",
    "test/server/label-routes.test.ts",
    "test/cli/evals/",
    "test/cli/error-analysis/",
  ],
  statistics: ["test/statistics/", "test/analysis/", "test/evals/", "test/results/figures-agree.test.ts"],
  "platform/guarded-fetch.ts": ["test/platform/"],
  tools: [
    "test/tools/",
    "test/agents/",
    "test/attacks/",
    "test/training/",
    "test/server/chat-actions.test.ts",
    "test/server/openenv-actions.test.ts",
    "test/cli/tools/",
    "test/cli/mail/search.test.ts",
    "test/cli/questions/actions.test.ts",
    "test/cli/suites/outside-agents.test.ts",
  ],
  "mail/search.ts": ["test/mail/", "test/tools/"],
  "mail/fts5-query.ts": ["test/mail/", "test/tools/"],
  "mail/search/postings.ts": ["test/mail/", "test/tools/"],
  "mail/search/ranking.ts": ["test/mail/", "test/tools/"],
  "mail/search/signals.ts": ["test/mail/", "test/tools/"],
  "mail/search/matches.ts": ["test/mail/", "test/tools/"],
  "mail/search/spelling.ts": ["test/mail/", "test/tools/"],
  "runs/budget.ts": ["test/runs/budget.test.ts"],
  "agents/agent-loop.ts": ["test/agents/"],
};

const REQUIRED_SHARE = 0.85;

interface Survivor {
  readonly file: string;
  /** The trimmed line, because line numbers change. */
  readonly code: string;
  readonly replacement: string;
  readonly reason: string;
}

interface ModuleMutant {
  readonly module: string;
  readonly mutant: Mutant;
}

const { values: flags } = parseArgs({
  options: {
    sample: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    module: { type: "string", multiple: true, default: Object.keys(TESTS_OF) },
    jobs: { type: "string", default: "2" },
  },
});

const unknown = flags.module.filter((module) => !Object.hasOwn(TESTS_OF, module));
if (unknown.length > 0)
  throw new Error(`Unknown module ${unknown.join(", ")}. Available: ${Object.keys(TESTS_OF).join(", ")}.`);

const explained = JSON.parse(readFileSync(join(import.meta.dirname, "survivors.json"), "utf8")) as Survivor[];
const all = flags.module.flatMap((module) =>
  typeScriptFilesIn(`src/${module}`)
    .flatMap(mutantsOf)
    .map((mutant) => ({ module, mutant })),
);
const sample = draw(all, Number(flags.sample), Number(flags.seed));
console.log(`${sample.length} of ${all.length} mutants of ${flags.module.join(", ")}; seed ${flags.seed}`);

const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort());

const outcomes = new Map<ModuleMutant, MutantOutcome>();
const queue = [...sample];
// Copied immediately, because the project can change while this runs.
const checkouts = Array.from({ length: Number(flags.jobs) }, () => new Checkout(process.cwd()));
try {
  const timeouts = await measureModules();
  await Promise.all(checkouts.map((checkout) => runQueue(checkout, timeouts)));
} finally {
  for (const checkout of checkouts) checkout.remove();
}
report();

/** Three times the duration without a mutant: on a busy machine, tests can take twice as long. */
async function measureModules(): Promise<ReadonlyMap<string, number>> {
  const durations = new Map<string, number>();
  const timeouts = new Map<string, number>();
  for (const module of new Set(sample.map(({ module }) => module))) {
    const tests = TESTS_OF[module] ?? [];
    const ms = durations.get(tests.join(" ")) ?? (await checkouts[0]?.measure(tests)) ?? 0;
    durations.set(tests.join(" "), ms);
    console.log(`${module}: its tests take ${Math.round(ms / 1_000)} s`);
    timeouts.set(module, 30_000 + 3 * ms);
  }
  return timeouts;
}

async function runQueue(checkout: Checkout, timeouts: ReadonlyMap<string, number>): Promise<void> {
  for (let next = queue.shift(); next !== undefined && !interrupted.signal.aborted; next = queue.shift()) {
    const { module, mutant } = next;
    const tests = TESTS_OF[module] ?? [];
    const importers = importersOf(mutant.file, tests);
    const outcome = await checkout.run(mutant, { importers, tests }, timeouts.get(module) ?? 0);
    outcomes.set(next, outcome);
    if (outcome !== "killed") console.log(describe(mutant, outcome));
    if (outcomes.size % 10 === 0) console.log(`... ${outcomes.size} of ${sample.length}`);
  }
}

function report(): void {
  const survivors = [...outcomes].filter(([, outcome]) => outcome === "survived").map(([survivor]) => survivor);
  const killed = outcomes.size - survivors.length;
  for (const module of flags.module) {
    const inModule = ({ module: other }: ModuleMutant) => other === module;
    const tried = [...outcomes.keys()].filter(inModule).length;
    if (tried > 0) console.log(`${module}: ${tried - survivors.filter(inModule).length} of ${tried} killed`);
  }
  const unexplained = survivors.filter(({ mutant }) => reasonOf(mutant) === undefined);
  console.log(`${((100 * killed) / outcomes.size).toFixed(1)}% killed; required: ${100 * REQUIRED_SHARE}%`);
  console.log(`${survivors.length} survived, ${unexplained.length} of them without a reason in survivors.json`);
  process.exitCode = killed >= REQUIRED_SHARE * outcomes.size && unexplained.length === 0 ? 0 : 1;
}

function describe(mutant: Mutant, outcome: MutantOutcome): string {
  const change = `${mutant.original.replace(/\s+/g, " ")}  ->  ${mutant.replacement}`;
  const reason = reasonOf(mutant);
  return `${outcome}  ${mutant.file}:${mutant.line}  ${change}${reason === undefined ? "" : `  (${reason})`}`;
}

function reasonOf({ file, code, replacement }: Mutant): string | undefined {
  return explained.find((one) => one.file === file && one.code === code && one.replacement === replacement)?.reason;
}

function draw<T>(items: readonly T[], count: number, seed: number): T[] {
  const random = seededRandom(seed);
  const rest = [...items];
  return Array.from({ length: Math.min(count, rest.length) }, () => rest.splice(random(rest.length), 1)).flat();
}

/** The test files in these folders that import a source file directly. */
function importersOf(file: string, testFolders: readonly string[]): string[] {
  const imported = file.replace(/\.ts$/, ".js");
  const tests = testFolders.flatMap((folder) => typeScriptFilesIn(folder).filter((name) => name.endsWith(".test.ts")));
  return tests.filter((test) => readFileSync(test, "utf8").includes(`/${imported}"`));
}

/** `path`: a folder, or one file. */
function typeScriptFilesIn(path: string): string[] {
  if (path.endsWith(".ts")) return [path];
  const names = readdirSync(path, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".ts"))
    .sort()
    .map((name) => join(path, name));
}

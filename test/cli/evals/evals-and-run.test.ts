import { beforeAll, describe, expect, it } from "vitest";
import { slow } from "../../machine-requirements.js";
import { QUESTIONS, workFolder } from "../art-e.js";
import { briefEval } from "./brief-answers.js";
import { jsonOf } from "./json-output.js";

const { artE, readJson, start, write } = workFolder({ demo: "labeled" });

const json = jsonOf(artE);

let first = "";
let second = "";

/** Adds a validated eval of short answers to the active evals. */
async function useEval(name: string) {
  write(`${name}.json`, briefEval(14, { name }));
  await json(`evals add ${name}.json`);
  await json(`evals test ${name}@1`);
  await json(`evals use ${name}`);
}

beforeAll(async () => {
  first = readJson("results.json").runId;
  await json(`runs rename ${first} first`);
  await artE(`run -a baseline --dataset ${QUESTIONS} -l 5 -o five.json --name brief --quiet`);
  second = readJson("five.json").runId;
  await useEval("brief");
});

type Accepted = readonly [what: string, words: string, expected: () => string];
const ACCEPTED: readonly [Accepted, ...Accepted[]] = [
  ["a run name after the eval", "brief first", () => first],
  ["a run name before the eval", "first brief", () => first],
  ["a run name as --run", "brief --run first", () => first],
  ["the same run name twice", "brief first --run first", () => first],
  ["a run id", "brief ID", () => first],
  ["the start of a run id", "brief STA", () => first],
  ["latest", "brief latest", () => second],
  ["a run with the name of an eval, as --run", "brief --run brief", () => second],
];

type Rejected = readonly [what: string, words: string, message: string];
const REJECTED: readonly [Rejected, ...Rejected[]] = [
  ["two runs", "brief first latest", "Cannot use several runs: first, latest."],
  ["a name of neither an eval nor a run", "brief nosuch", 'Unknown eval or run "nosuch" in ./art-e.db.'],
  ["another run as --run", "brief first --run latest", "RUN (first) and --run (latest) differ."],
];

/** All rows for the first command. The other one reads its words with the same function. */
const forBoth = <Row>([row, ...others]: readonly [Row, ...Row[]]): (readonly [string, Row])[] => [
  ...[row, ...others].map((one) => ["run", one] as const),
  ["watch", row],
];

describe("a run as argument", () => {
  it.each(forBoth(ACCEPTED))("of evals %s can be %j", async (command, [, words, expected]) => {
    const line = words.replace("ID", first).replace("STA", first.slice(0, -1));
    expect((await json(`evals ${command} ${line}`)).runId).toBe(expected());
  });

  it("reads a name that an eval and a run share as the eval's", async () => {
    const { runId, evals } = await json("evals run brief");
    expect({ runId, names: evals.map(({ name }: { name: string }) => name) }).toEqual({
      runId: second,
      names: ["brief"],
    });
  });

  it.each(forBoth(REJECTED))("of evals %s cannot be %j", async (command, [, words, message]) => {
    const { code, stderr } = await artE(`evals ${command} ${words}`);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });
});

it.each(["run", "watch"])("evals %s with only a run uses all active evals", async (command) => {
  const { runId, evals } = await json(`evals ${command} first`);
  expect(runId).toBe(first);
  expect(evals).toMatchObject([{ name: "brief", version: 1 }]);
});

it("evals run and evals test report their progress while the eval runs", slow(), async () => {
  const wait = "const end = Date.now() + 200; while (Date.now() < end);";
  write("busy.ts", `export function busy() { ${wait} return { score: 1, reason: "" }; }`);
  await json("evals add busy.ts");
  const run = await start("evals run busy@1 first").ended;
  expect(run).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Evals \d+%.*traces.* left$/m) });
  const test = await start("evals test busy@1").ended;
  expect(test.stderr).toMatch(/^Testing \d+%.*results.* left$/m);
});

import { cpSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { machinesStart } from "../suites/machines-start.js";
import { addressOf, BIN, jsonLines, MAIL, ROOT, startProgram, workFolder } from "./art-e.js";

/** The files in examples/ work as described in its README. */

const { artE, path, readJson } = workFolder({ mail: MAIL });
const EXAMPLES = join(ROOT, "examples");

let provider: FakeProvider;
beforeAll(async () => {
  for (const name of ["examples", "fixtures"]) symlinkSync(join(ROOT, name), path(name));
  provider = await startFakeProvider(({ turn, question }) => {
    const command = "sort -u ~/Desktop/names.txt -o ~/Desktop/names.txt";
    return question.includes("names.txt") && turn === 0
      ? { toolCalls: [{ name: "run_shell", arguments: { command } }] }
      : { toolCalls: [{ name: "return_final_answer", arguments: { answer: "I don't know", sources: [] } }] };
  });
});
afterAll(() => provider.close());

const ran = async (line: string | readonly string[]) => {
  const variables = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url };
  const { code, stdout, stderr } = await artE(line, variables);
  expect({ line, code, stderr: code === 0 ? "" : stderr }).toEqual({ line, code: 0, stderr: "" });
  return stdout;
};

it("the README of the examples names every example, and its commands exist", () => {
  const page = readFileSync(join(EXAMPLES, "README.md"), "utf8");
  const linked = [...page.matchAll(/^\| \[([^\]]+)\]/gm)].map(([, name]) => name);
  expect(linked.sort()).toEqual(
    readdirSync(EXAMPLES)
      .filter((name) => name !== "README.md")
      .sort(),
  );
});

it("the example program matches the page about external agents, and finds mail", async () => {
  const program = readFileSync(join(EXAMPLES, "first_mail_agent.py"), "utf8");
  const page = readFileSync(join(ROOT, "docs/external-agents.md"), "utf8");
  expect(page).toContain(program.slice(program.indexOf("import ")));
  const line = ["run", "-a", "first-mail", "--agent-command", "python3 examples/first_mail_agent.py", "-l", "5"];
  await ran([...line, "--dataset", "fixtures/demo/questions.jsonl", "--quiet", "-o", path("first.json")]);
  const { taskResults } = readJson("first.json");
  expect(taskResults.map(({ ending }: { ending: string }) => ending)).toEqual(Array(5).fill("answered"));
  expect(taskResults.some(({ sourcesCorrect }: { sourcesCorrect: boolean }) => sourcesCorrect)).toBe(true);
});

it("the example agent and tool run after an import", async () => {
  await ran("agents import examples/agent.yaml");
  await ran("tools add business_days --module examples/business-days-tool.ts");
  expect(
    JSON.parse(await ran(["tools", "test", "business_days", '{"from": "2001-03-01", "to": "2001-03-15"}'])),
  ).toEqual({
    days: 10,
  });
  await ran("agents attach careful business_days");
  expect(await ran("run -a careful --dataset fixtures/demo/questions.jsonl -l 1 --no-judge")).toContain("1 completed");
});

it("the example settings define two runs that meet their gates", async () => {
  const { runs } = JSON.parse(await ran("run --config examples/settings.yaml --json --quiet"));
  const shown = runs.map(({ name, totalTasks, gates }: { name: string; totalTasks: number; gates: object[] }) => [
    name,
    totalTasks,
    gates.length,
  ]);
  expect(shown).toEqual([
    ["one-source", 20, 1],
    ["all-sources", 30, 1],
  ]);
});

it("the example suite passes its check", async () => {
  expect(await ran("suite check examples/suite")).toContain("1 task read, 0 errors");
});

it("the commands of train-with-trl make a first step with a replacement for TRL", { tags: ["slow"] }, async () => {
  cpSync(join(EXAMPLES, "train-with-trl"), path("copy/examples/train-with-trl"), { recursive: true });
  symlinkSync(join(ROOT, "fixtures"), path("copy/fixtures"));
  const folder = path("copy/examples/train-with-trl");
  const [, block = ""] = /```bash\n(.*?)```/s.exec(readFileSync(join(folder, "README.md"), "utf8")) ?? [];
  const [imports = "", client = "", serve = "", install = "", train = ""] = block.trim().split("\n");
  const artEInFolder = (line: string) => startProgram(folder, process.execPath, [BIN, ...line.split(" ").slice(1)], {});
  for (const line of [imports, client]) expect(await artEInFolder(line).ended).toMatchObject({ code: 0, stderr: "" });
  expect(install).toMatch(/^pip install trl /);
  const server = artEInFolder(serve.replace(/ &$/, " --port 0 --quiet"));
  try {
    const variables = {
      ART_E_ENV_URL: await addressOf(server),
      PYTHONPATH: join(ROOT, "test/cli/server/trainers"),
      PYTHONDONTWRITEBYTECODE: "1",
    };
    const [program = "", ...args] = train.split(" ");
    const { code, stdout, stderr } = await startProgram(folder, program, args, variables).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const episodes = jsonLines(stdout);
    expect(episodes).toHaveLength(8);
    for (const { index, reward } of episodes)
      expect({ index, reward }).toEqual({ index: 0, reward: expect.any(Number) });
  } finally {
    server.child.kill("SIGTERM");
    await server.ended;
  }
  const runs = JSON.parse((await artEInFolder("art-e runs list --json").ended).stdout);
  expect(runs).toMatchObject([{ agentId: "email-search", status: "completed", completedTasks: 8 }]);
});

describe("an example in a sandbox", needs("sandbox", machinesStart), () => {
  it("scores a stored run with its scorer", async () => {
    await ran("run -a baseline --dataset fixtures/demo/questions.jsonl -l 3 --quiet");
    await ran("evals add examples/brief_scorer.py");
    const { evals } = JSON.parse(await ran("evals run brief_scorer@1 --json"));
    expect(evals).toEqual([expect.objectContaining({ name: "brief_scorer" })]);
  });

  it("solves the suite's task with an agent that does the work, but not with an idle one", async () => {
    const score = async (agent: string) => {
      await ran(`run --suite examples/suite -a ${agent} --quiet -o ${agent}.json`);
      return readJson(`${agent}.json`).taskResults[0].suite.score;
    };
    expect(await score("data-worker")).toBe(1);
    expect(await score("noop")).toBe(0);
  });
});

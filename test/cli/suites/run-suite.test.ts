import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { machinesStart } from "../../suites/machines-start.js";
import { ROOT, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

/** Agents on the tasks of a suite: a scripted model over HTTP, real machines, real evaluation functions. */

const SUITE = join(ROOT, "fixtures/suites/demo");
const [KILNS, WEATHER, LAMPS] = ["142a807f", "575c7366", "8cb2db91"];
const { artE, readJson } = workFolder();

let provider: FakeProvider;
afterEach(() => provider.close());

/** What the agent types, by what its task speaks of. */
const COMMANDS: Readonly<Record<string, string>> = {
  kiln: "grep 'kiln 3' ~/Desktop/kilns.log > ~/Desktop/kiln3.txt",
  weather: "cd ~/weather && (setsid python3 -m http.server 8036 --bind 127.0.0.1 >/dev/null 2>&1 &) ; sleep 1",
  // It looks for what it must not see, and leaves its task undone.
  Lamps: "find / -name '*gold*' -not -path '/proc/*' -not -path '/usr/*' 2>/dev/null; cat ~/eval.sh; env | grep KEY",
};

async function startModel(): Promise<void> {
  provider = await startFakeProvider(({ turn, question }) => {
    if (turn > 0) return { toolCalls: [{ name: "return_final_answer", arguments: { answer: "Done.", sources: [] } }] };
    const [, command = ""] = Object.entries(COMMANDS).find(([word]) => question.includes(word)) ?? [];
    return { toolCalls: [{ name: "run_shell", arguments: { command } }] };
  });
}

const run = (line: string) => artE(`run ${line}`, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });

describe("run --suite", needs("sandbox", machinesStart), () => {
  it("lets an agent work in each task's machine, and grades what it left behind", async () => {
    await startModel();
    const line = `--suite ${SUITE} --task ${KILNS},${WEATHER},${LAMPS} -a data-worker --quiet --json -o results.json`;
    const { code, stdout, stderr } = await run(line);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const results = resultsSchema.parse(readJson("results.json"));
    expect(
      results.taskResults.map(({ taskId, suite, scores }) => [`${taskId}`.slice(0, 8), suite?.score, scores]),
    ).toEqual([
      [KILNS, 1, { taskScore: 1, taskSolved: 1 }],
      [WEATHER, 1, { taskScore: 1, taskSolved: 1 }],
      [LAMPS, 0, { taskScore: 0, taskSolved: 0 }],
    ]);
    expect(results.taskResults[2]?.suite).toMatchObject({ name: "demo", tool: "terminal", state: "success" });
    expect(JSON.parse(stdout).scores.taskScore).toMatchObject({ n: 3, value: 2 / 3 });
    const shown = await artE(`show latest/${results.taskResults[2]?.taskId}`);
    expect(shown.stdout).toMatch(/^Grade: +0 {2}success/m);
    expect(shown.stdout).not.toMatch(/_gold|north\.conf|test-key|ANTHROPIC/);
  });

  it("goes on with a run that was stopped by a limit, and says what a suite's run does not take", async () => {
    await startModel();
    const begun = await run(
      `--suite ${SUITE} --tool terminal --tag cli -a data-worker --max-run-tokens 1 --concurrency 1 --quiet`,
    );
    expect(begun.code).toBe(1);
    const more = await run("--resume latest --max-run-tokens 1000000 --json --quiet");
    expect(more.code).toBe(0);
    const { plannedTasks, totalTasks, status } = JSON.parse(more.stdout);
    expect({ totalTasks, status }).toEqual({ totalTasks: plannedTasks, status: "completed" });
    const refused = await run(`--suite ${SUITE} -a data-worker --judge art`);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--judge is for tasks with a gold answer"),
    });
    const none = await run(`--suite ${SUITE} --tool airbyte -a data-worker`);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("No task of demo is selected") });
  });
});

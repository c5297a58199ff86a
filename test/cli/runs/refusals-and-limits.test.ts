import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

const { artE, readJson, read } = workFolder({ mail: MAIL });

let provider: FakeProvider;
let answer: (request: number) => Answer = () => ({ content: "42" });
beforeAll(async () => {
  provider = await startFakeProvider(() => answer(provider.requests.length));
});
afterAll(() => provider.close());

const variables = () => ({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: provider.baseUrl("openai-chat") });
const RUN = `run -a email-search --model-id openai/m --dataset ${QUESTIONS} --concurrency 1 --no-judge`;

const filtered: Answer = {
  fail: "status",
  status: 400,
  body: { error: { code: "content_filter", message: "The prompt was filtered." } },
};
const FINAL: Answer = {
  toolCalls: [{ name: "return_final_answer", arguments: { answer: "42", sources: [] } }],
  usage: { inputTokens: 1_000, outputTokens: 100, cachedInputTokens: 0 },
};

describe("a run's refusals", () => {
  it("appear with their reasons and numbers in the results, stats, show and every report", async () => {
    const first = provider.requests.length;
    answer = (request) =>
      request - first <= 2
        ? filtered
        : request - first === 3
          ? { content: "I will not.", finishReason: "refusal" }
          : FINAL;
    const { code, stdout } = await artE(`${RUN} -l 5 -o refused.json`, variables());
    expect(code).toBe(0);
    const { refusals = [], failedTasks, taskResults } = resultsSchema.parse(readJson("refused.json"));
    expect(failedTasks).toBe(0);
    expect(refusals.map(({ tasks }) => tasks)).toEqual([2, 1]);
    expect(refusals[0]?.reason).toContain("The prompt was filtered. (content_filter)");
    expect(refusals[1]?.reason).toContain("I will not.");
    expect(taskResults.filter(({ refusal }) => refusal !== undefined)).toHaveLength(3);
    expect(stdout).toMatch(/Refusals: .*The prompt was filtered\..* \(2 tasks\); .*I will not\..* \(1 task\)/);
    expect((await artE("stats latest")).stdout).toContain("(content_filter) (2 tasks)");
    expect((await artE("report --run latest -o refused.html")).code).toBe(0);
    expect(read("refused.html")).toContain("The prompt was filtered.");
    expect((await artE("report --run latest --format md -o refused.md")).code).toBe(0);
    expect(read("refused.md")).toContain("Refusals");
  });
});

describe("a limit that is changed on --resume", () => {
  it.each<[string, string, string | null, unknown]>([
    ["--max-cost 0.002", "--max-cost 5", null, 5],
    ["--max-run-tokens 1500", "--max-run-tokens 100000", null, 100_000],
    ["--max-failures 1", "--max-failures 4", null, { tasks: 4 }],
    ["--max-time 100", "--max-time 200", null, 12_000_000],
    ["--max-task-cost 0.5", "--max-task-cost 1", "--max-task-cost was 0.5 and is 1", null],
    ["--task-timeout 100", "--task-timeout 200.5", "--task-timeout was 100 and is 200.5", null],
  ])("needs no --force if raised (%s becomes %s)", async (before, after, change, limit) => {
    const isStopped = before.startsWith("--max-failures");
    answer = () => (isStopped ? { fail: "status", status: 400, body: { error: { message: "no" } } } : FINAL);
    await artE(`${RUN} -l 4 --price 1,1 ${before}`, variables());
    answer = () => FINAL;
    const more = isStopped ? "--retry-failed " : "";
    const { code, stderr } = await artE(`run --resume latest ${more}${after} -o raised.json --overwrite`, variables());
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const { settings, limits, totalTasks } = resultsSchema.parse(readJson("raised.json"));
    if (change === null) {
      expect(settings.changes).toBeUndefined();
      expect(Object.values(limits)).toContainEqual(limit);
    } else {
      expect(stderr).toContain(`${change}. The run records it.`);
      expect(settings.changes).toEqual([change]);
    }
    expect(totalTasks).toBe(4);
  });

  it.each(["--task-timeout 50", "--max-task-cost 0.1", "--max-turns 20"])(
    "needs --force if lowered, or if the run did not have it (%s)",
    async (flag) => {
      answer = () => FINAL;
      await artE(`${RUN} -l 1 --price 1,1 --task-timeout 100 --max-task-cost 0.5`, variables());
      const { code, stderr } = await artE(`run --resume latest ${flag}`, variables());
      expect(code).toBe(2);
      expect(stderr).toContain("Cannot resume run");
    },
  );
});

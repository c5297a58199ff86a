import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { ParsedRequest } from "../../providers/wire-request.js";
import { demoQuestions, jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";

/** A model that answers from its first search result, and gives up if a tool fails. */

const { artE, read } = workFolder({ mail: MAIL });
const TASKS = 6;

let provider: FakeProvider;
/** Answers "right" on these attempts of a question. */
let isRight: (question: string) => boolean = () => true;

beforeAll(async () => {
  provider = await startFakeProvider(answer);
});
afterAll(() => provider.close());

function answer(request: ParsedRequest) {
  const asked = demoQuestions.find(({ question }) => request.question.includes(question));
  if (request.turn === 0) {
    return {
      toolCalls: [
        { name: "email_search", arguments: { query: asked?.question ?? "", inbox_id: asked?.inbox_address ?? "" } },
      ],
    };
  }
  const result = JSON.stringify(request.messages.at(-1));
  const gold = asked?.answer ?? "";
  const text = result.includes("Try again") ? "I don't know" : isRight(request.question) ? gold : "wrong";
  return { toolCalls: [{ name: "return_final_answer", arguments: { answer: text, sources: [] } }] };
}

const variables = () => ({ ANTHROPIC_API_KEY: "key", ANTHROPIC_BASE_URL: provider.url });
const done = async (line: string) => {
  const ended = await artE(line, variables());
  expect({ line, code: ended.code, stderr: ended.stderr }).toMatchObject({ line, code: 0 });
  return ended.stdout;
};
const card = async (line: string) => JSON.parse(await done(`${line} --json`));
const figure = ({ rows }: { rows: { name: string; estimate: { value: number } }[] }, name: string) =>
  rows.find((row) => row.name === name)?.estimate.value;

describe("art-e reliability", () => {
  it("measures how often epochs agree, and finds the perturbed repeats of the run", async () => {
    let calls = 0;
    // Every fourth answer is wrong: in the order of the tasks, the answers to questions 4, 2, 6 and again 4.
    isRight = () => ++calls % 4 !== 0;
    await done(
      `run -a email-search --model-id anthropic/x --dataset ${QUESTIONS} -l ${TASKS} --epochs 3 --concurrency 1 --no-judge --name plain --quiet`,
    );
    isRight = () => true;
    for (const how of ["shuffled", "tool-error", "reworded"]) {
      await done(`run --repeat plain --perturb ${how} --name ${how} --quiet`);
    }
    const shown = await card("reliability plain --metric exactMatch");
    expect(shown).toMatchObject({ scorer: "exactMatch", questions: TASKS, tasks: TASKS * 3 });
    expect(shown.perturbedRuns.map(({ perturbation }: { perturbation: string }) => perturbation).sort()).toEqual([
      "reworded",
      "shuffled",
      "tool-error",
    ]);
    expect(figure(shown, "when answered")).toBeCloseTo(14 / 18);
    // Three questions with one different epoch out of three: one of three pairs agrees.
    expect(figure(shown, "agreement")).toBeCloseTo((3 * 1 + 3 / 3) / 6);
    expect(figure(shown, "outcome")).toBeCloseTo((3 * 1 + 3 / 9) / 6);
    expect(figure(shown, "all 3 right")).toBe(0.5);
    expect(figure(shown, "tools")).toBe(1);
    // Right answers throughout are more than before, and count as 1. After an error, the model gives up.
    expect([figure(shown, "shuffled"), figure(shown, "reworded"), figure(shown, "tool-error")]).toEqual([1, 1, 0]);
    const text = await done("reliability plain --metric semantic");
    expect(text).toMatch(/consistency +outcome +0\.\d+ \[/);
    expect(text).toContain("relative to without, at most 1");
  });

  it("perturbs the task, and the trace shows what the agent received", async () => {
    await done("export-traces --run plain -o plain.jsonl --quiet");
    const plain = jsonLines(read("plain.jsonl"));
    await done("export-traces --run shuffled -o mixed.jsonl --quiet");
    const mixed = jsonLines(read("mixed.jsonl"));
    const idsOf = (trace: (typeof plain)[number]) =>
      trace.toolCalls[0].result.emails.map(({ message_id }: { message_id: string }) => message_id);
    for (const [i, trace] of mixed.entries()) {
      expect(idsOf(trace).toSorted()).toEqual(idsOf(plain[i]).toSorted());
    }
    expect(mixed.some((trace, i) => idsOf(trace).join() !== idsOf(plain[i]).join())).toBe(true);

    await done("export-traces --run reworded -o words.jsonl --quiet");
    for (const { messages, task } of jsonLines(read("words.jsonl"))) {
      expect(messages[1].content).toContain(task.question);
      expect(messages[1].content).not.toBe(task.question);
    }
    await done("export-traces --run tool-error -o broken.jsonl --quiet");
    for (const { toolCalls } of jsonLines(read("broken.jsonl"))) {
      expect(toolCalls[0]).toMatchObject({ errorKind: "failed", error: expect.stringContaining("Try again") });
    }
  });

  it.each([
    ["reliability plain plain", "is not perturbed"],
    ["reliability plain --metric goldRank", "not limited to 0 to 1"],
    ["run --resume plain --perturb latency", "--perturb does not apply to a resumed run"],
    ["run --agent-command true -l 1 --perturb latency", "--perturb does not apply to an external agent"],
    [
      "run -a email-search --perturb quietly",
      "--perturb: expected one of reworded, tool-error, latency, shuffled, hostile, hostile-control",
    ],
    ["run -a email-search --perturb hostile=flattery", 'unknown kind of attack "flattery". Available: '],
    ["run -a email-search --perturb latency=forward", "latency does not have kinds"],
  ])("rejects %s", async (line, message) => {
    const { code, stderr } = await artE(line, variables());
    expect({ line, code, stderr }).toEqual({ line, code: 2, stderr: expect.stringContaining(message) });
  });
});

import { beforeAll, describe, expect, it } from "vitest";
import { chooseSandbox } from "../../../src/sandbox/choose-sandbox.js";
import { Database } from "../../../src/store/sqlite.js";
import { needs } from "../../machine-requirements.js";
import { MARCUS, QUESTIONS, workFolder } from "../art-e.js";
import { isBrief, labelLines } from "./brief-answers.js";
import { jsonOf } from "./json-output.js";

const { artE, path, read, readJson, write } = workFolder({ demo: "answered" });
const choice = await chooseSandbox();

const json = jsonOf(artE);

const SHORT = `def eval_function(task, task_metadata, trace, ctx):
    """The answer has at most 14 words."""
    words = len((trace["answer"] or "").split())
    return (1.0 if words <= 14 else 0.0), f"{words} words"
`;

describe("evals in Python", needs("sandbox", choice.ok), () => {
  let runId = "";
  beforeAll(async () => {
    const { runId: id, taskResults } = readJson("results.json");
    runId = id;
    write("labels.jsonl", labelLines(taskResults));
    await json("evals label --from labels.jsonl");
    write("brief.py", SHORT);
    write("raises.py", SHORT.replace("words = ", "words = task['nothing'] + "));
    write("gold.py", `REFERENCE = True\n${SHORT}`.replace("words <= 14", 'task_metadata["expected_output"] != ""'));
  });

  it("declare their inputs in the code when imported from files", async () => {
    const imported = await json("evals add brief.py raises.py gold.py");
    expect(imported.map(({ name, version }: { name: string; version: number }) => [name, version])).toEqual([
      ["brief", 1],
      ["raises", 1],
      ["gold", 1],
    ]);
    expect(await json("evals show brief")).toMatchObject({
      kind: "python",
      reference: false,
      criterion: "The answer has at most 14 words.",
      code: SHORT,
    });
    expect(await json("evals show gold")).toMatchObject({ reference: true });
    expect((await artE("evals show brief --code")).stdout.trim()).toBe(SHORT.trim());
    write("other.py", "print('hello')");
    expect(await artE("evals add other.py")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Cannot read the eval other.py: eval_function with four parameters is missing."),
    });
    write("my-check.py", `\ufeff${SHORT.replace("14", "15")}`);
    expect((await artE("evals add my-check.py")).stdout).toBe("my-check.py: my_check@1\n");
    write("2-short.py", SHORT);
    expect((await artE("evals add 2-short.py")).stderr).toContain(
      "Cannot read the eval 2-short.py: the file name cannot be an eval's name, which starts with a letter",
    );
  });

  it("pass validation, become active and run as scores like other evals", async () => {
    const { agreement, passed, latencyMs } = (await json("evals test brief"))[0];
    expect({ passed, errors: agreement.errors, tpr: agreement.truePositiveRate.value }).toEqual({
      passed: true,
      errors: 0,
      tpr: 1,
    });
    expect(latencyMs.p95).toBeGreaterThan(0);
    expect(await json("evals show brief --disagreements")).toMatchObject({ contradictions: [] });
    await json("evals use brief");
    const { evals } = await json(`evals run brief gold@1 --run ${runId}`);
    expect(evals[0].passed + evals[0].failed).toBe(73);
    expect(evals[1]).toMatchObject({ reference: true, errors: 0 });
    const line = `run -a baseline --dataset ${QUESTIONS} -l 20 --scorers eval:brief -o some.json --quiet`;
    expect(await artE(line)).toMatchObject({ code: 0, stderr: "" });
    const { settings, taskResults } = readJson("some.json");
    expect(settings.scorers).toContain("eval:brief@1");
    for (const { agentAnswer, scores } of taskResults) expect(scores["eval:brief"]).toBe(isBrief(agentAnswer) ? 1 : 0);
    expect(await artE(`score --scorers eval:brief -o again.json --quiet`)).toMatchObject({ code: 0 });
    expect(readJson("again.json").taskResults.map(({ scores }: { scores: object }) => scores)).toEqual(
      taskResults.map(({ scores }: { scores: object }) => expect.objectContaining(scores)),
    );
    expect(await artE(`gate latest --fail-under eval:brief=1.0`)).toMatchObject({ code: 3 });
    const scoresOfChat = async () =>
      (await json(`show ${(await json(`ask ${MARCUS} dues --agent baseline`)).traceId}`)).scores;
    expect((await scoresOfChat())["eval:brief"].value).toBeTypeOf("number");
    // The eval reads gold, so it does not score chats, even while it is active.
    await json("evals use gold --anyway");
    expect(await scoresOfChat()).not.toHaveProperty("eval:gold");
  });

  it("cause an error with the reason if they raise one during the test, which does not count as score 0", async () => {
    expect((await artE("evals test raises")).stderr).toMatch(
      /raises@1: it failed on \d+ of \d+ labeled traces: KeyError: 'nothing' \(line 3\)\./,
    );
    const { evals } = await json(`evals run raises@1 --run ${runId}`);
    expect(evals[0]).toMatchObject({ passed: 0, failed: 0, errors: 73 });
    await json(`export-traces --run ${runId} -o traces.jsonl`);
    const [first = "{}"] = read("traces.jsonl").split("\n");
    expect(JSON.parse(first).scores["eval:raises"]).toEqual({
      value: null,
      explanation: "the eval failed: KeyError: 'nothing' (line 3)",
      failed: true,
    });
  });

  const FAULTY: readonly (readonly [name: string, line: string, message: string])[] = [
    ["flaky", 'return float(__import__("random").random() < 0.5), "by chance"', "changed in a second run"],
    [
      "relative",
      'answers = [len((__import__("json").loads(line)["trace"]["answer"] or "").split()) for line in open("arguments.jsonl")]; return float(words <= sorted(answers)[len(answers) // 2]), "shorter than half of the others"',
      "changed in a second run",
    ],
    [
      "counting",
      'COUNT = globals().setdefault("COUNT", []); COUNT.append(1); return float(len(COUNT) % 2), "every other one"',
      "changed in a second run",
    ],
    ["silent", 'return (1.0, "short") if words <= 14 else (None, "no idea")', "bad traces."],
  ];
  const REJECTED = "are rejected if they are %s, whatever their accuracy";
  const isSlow = ([name]: (typeof FAULTY)[number]) => name === "relative" || name === "counting";
  it.each(FAULTY.filter((one) => !isSlow(one)))(REJECTED, expectRejection);
  it.each(FAULTY.filter(isSlow))(REJECTED, { tags: ["slow"] }, expectRejection);

  async function expectRejection(name: string, line: string, message: string): Promise<void> {
    write(`${name}.py`, SHORT.replace(/return .*/, line));
    await json(`evals add ${name}.py`);
    const { code, stderr } = await artE(`evals test ${name}`);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect(stderr).not.toContain("Label more");
    expect((await artE(`evals use ${name}`)).stderr).toContain("was never tested");
  }

  it("fail validation if they list the ids of bad traces or tasks", { tags: ["slow"] }, async () => {
    const { taskResults } = readJson("results.json");
    const bad = (taskResults as { traceId: string; taskId: number; agentAnswer: string }[]).filter(
      ({ agentAnswer }) => !isBrief(agentAnswer),
    );
    const listed = (ids: readonly unknown[]) => JSON.stringify(ids);
    await expectRejection(
      "by_trace",
      `return float(trace["traceId"] not in ${listed(bad.map(({ traceId }) => traceId))}), "listed"`,
      "with other ids and start times",
    );
    await expectRejection(
      "by_task",
      `return float(trace["taskId"] not in ${listed(bad.map(({ taskId }) => taskId))}), "listed"`,
      "with other ids and start times",
    );
  });

  it("fail validation if they abstain on many bad traces", { tags: ["slow"] }, async () => {
    const some = 'return (1.0, "short") if words <= 14 else (None, "no idea") if words % 2 == 0 else (0.0, "long")';
    write("half.py", SHORT.replace(/return .*/, some));
    await json("evals add half.py");
    const { code, stdout } = await artE("evals test half");
    expect(code).toBe(3);
    expect(stdout).toMatch(/it judges only \d+% of the bad traces \(minimum 80%\)/);
  });

  it("fail on unseen questions if they memorize answers, even if the ids differ", { tags: ["slow"] }, async () => {
    // Every question twice, the second time under another id.
    await json(`export-traces --run ${runId} -o all.jsonl --overwrite`);
    const lines = read("all.jsonl").trimEnd().split("\n");
    const doubled = lines.flatMap((line) => {
      const trace = JSON.parse(line);
      const again = { traceId: `${trace.traceId}_again`, taskId: trace.taskId + 10_000, runId: "run_doubled" };
      return [
        { ...trace, runId: "run_doubled", traceId: `${trace.traceId}_once` },
        { ...trace, ...again, task: { ...trace.task, id: again.taskId } },
      ];
    });
    write("doubled.jsonl", doubled.map((trace) => `${JSON.stringify(trace)}\n`).join(""));
    await json("import-traces doubled.jsonl --db doubled.db");
    const answered = doubled.map(({ traceId, answer }) => ({ traceId, agentAnswer: answer }));
    write("doubled-labels.jsonl", labelLines(answered, { drawn: "all" }));
    await json("evals label --from doubled-labels.jsonl --db doubled.db");
    await json("evals suggest --db doubled.db");
    // The author of the eval has seen only the training half.
    const db = new Database(path("doubled.db"), { readonly: true });
    const seen = db.prepare("SELECT trace_id FROM eval_traces WHERE half = 'training'").pluck().all() as string[];
    db.close();
    const bad = doubled
      .filter((one) => seen.includes(one.traceId) && !isBrief(one.answer))
      .map(({ task }) => task.question);
    write(
      "by_heart.py",
      `BAD = ${JSON.stringify(bad)}\n\n\n${SHORT.replace("words <= 14", 'task["user_message"] not in BAD')}`,
    );
    await json("evals add by_heart.py --db doubled.db");
    expect(await json("evals show by_heart --disagreements --db doubled.db")).toMatchObject({ contradictions: [] });
    const { code, stdout } = await artE("evals test by_heart --json --db doubled.db");
    const [test] = JSON.parse(stdout);
    expect({ code, passed: test.passed }).toEqual({ code: 3, passed: false });
    expect(test.agreement.trueNegativeRate.value).toBe(0);
  });

  it("stay the same after an export to a folder of JSON files and an import", async () => {
    await json("evals export brief -o exported");
    expect(readJson("exported/brief.json")).toMatchObject({ kind: "python", code: SHORT });
    expect(await json("evals add exported")).toMatchObject([{ name: "brief", version: 1, isNew: false }]);
    await json("evals export brief --format python -o exported-code");
    expect(await json("evals add exported-code")).toMatchObject([{ name: "brief", version: 1, isNew: false }]);
  });
});

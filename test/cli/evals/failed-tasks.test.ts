import { afterAll, beforeAll, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { demoQuestions, MAIL, QUESTIONS, workFolder } from "../art-e.js";

const { artE, read, write } = workFolder({ mail: MAIL });

/** Two of five questions fail at the provider. */
const fails = (id: unknown) => Number(id) % 5 < 2;
const total = demoQuestions.length;
const ended = demoQuestions.filter(({ id }) => !fails(id)).length;

let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider(({ question }) => {
    const asked = demoQuestions.find((one) => question.includes(one.question));
    // Different errors, because the same one for many questions in a row stops a run.
    if (fails(asked?.id)) return { fail: "status", status: 400, message: `cannot handle "${asked?.question}"` };
    return { toolCalls: [{ name: "return_final_answer", arguments: { answer: "It is so.", sources: [] } }] };
  });
});
afterAll(() => provider.close());

const json = async (line: string, code = 0) => {
  const ran = await artE(`${line} --json`);
  expect({ line, code: ran.code, stderr: code === 0 ? ran.stderr : "" }).toEqual({ line, code, stderr: "" });
  return JSON.parse(ran.stdout);
};

/** Every way in which the demo's questions ask for a date or a time. */
const ASKS_WHEN = /^(when|what (time|day|date)|on what)\b/i;

/** Questions that ask when, of the tasks that ended. The only answer contains neither a date nor a source. */
const askWhen = demoQuestions.filter(({ id, question }) => !fails(id) && ASKS_WHEN.test(question)).length;

it("lets a failed task fail an eval, but never pass one, in art-e run, evals run, score and gate", async () => {
  const variables = { OPENAI_API_KEY: "key", OPENAI_BASE_URL: provider.baseUrl("openai-chat") };
  const rules = (name: string, condition: object) => ({
    name,
    version: 1,
    kind: "rules",
    reference: false,
    criterion: `It is ${name}.`,
    pass: { all: [condition] },
    origin: { by: "person", seed: null, labels: null },
  });
  const evals = [
    rules("comes_to_an_end", { feature: "ended", at_least: 1 }),
    rules("few_turns", { feature: "turns", at_most: 50 }),
    rules("date_where_asked", { feature: "date_given", at_least: 1 }),
    rules("sources_were_read", { feature: "sources_read", at_least: 1 }),
  ];
  for (const one of evals) {
    write(`${one.name}.json`, JSON.stringify(one));
    await json(`evals add ${one.name}.json`);
    await json(`evals use ${one.name} --anyway`);
  }
  const names = evals.map(({ name }) => `eval:${name}`);
  const line = `run -a email-search --model-id openai/m --price 1,1 --dataset ${QUESTIONS} -l 0 -o r.json --no-judge`;
  const ran = await artE(`${line} --scorers exactMatch,${names.join(",")}`, variables);
  expect(ran).toMatchObject({ code: 0 });
  const { scores, runId } = JSON.parse(read("r.json"));
  // Every failed task fails this eval, so it is wrong in both figures.
  const rate = { value: ended / total, n: total };
  expect(scores["eval:comes_to_an_end"]).toMatchObject({ ...rate, overAll: rate });
  // Without a verdict on the failed tasks, they are wrong only in the second figure.
  expect(scores["eval:few_turns"]).toMatchObject({ value: 1, n: ended, overAll: rate });
  expect(ran.stdout).toContain(`n=${ended}; ${(ended / total).toFixed(3)} with failed tasks as wrong`);
  expect(askWhen).toBeGreaterThan(3);
  expect(scores["eval:date_where_asked"]).toMatchObject({
    value: 0,
    n: askWhen,
    overAll: { value: 0, n: askWhen + total - ended },
  });
  expect(scores["eval:sources_were_read"]).toMatchObject({ value: null, n: 0 });

  const again = await json(`evals run ${evals.map(({ name }) => name).join(" ")} --run ${runId}`);
  const counts = again.evals.map((one: Record<string, unknown>) => [
    one.name,
    one.passed,
    one.failed,
    one.notApplicable,
    one.failedTasks,
    one.errors,
  ]);
  const failed = total - ended;
  expect(counts).toEqual([
    ["comes_to_an_end", ended, failed, 0, 0, 0],
    ["few_turns", ended, 0, 0, failed, 0],
    ["date_where_asked", 0, askWhen, ended - askWhen, failed, 0],
    ["sources_were_read", 0, 0, ended, failed, 0],
  ]);

  await json(`score --run ${runId} --scorers exactMatch,${names.join(",")} --no-judge`);
  const { gates } = await json(`gate ${runId} --fail-under eval:comes_to_an_end=0.9 --junit r.xml`, 3);
  expect(gates[0]).toMatchObject({ passed: false, figure: rate, coverage: { scored: total, tasks: total } });
  expect(read("r.xml")).toContain(`tests="${total + 1}" failures="1" errors="0"`);
  const { gates: others } = await json(`gate ${runId} --fail-under eval:few_turns=0.95`, 3);
  expect(others[0]).toMatchObject({
    passed: false,
    figure: { value: expect.closeTo(ended / total, 6), n: total },
    otherwise: { value: 1, n: ended },
    coverage: { scored: ended, notApplicable: 0, tasks: total, least: 0.9 },
  });

  // The evals were activated without a test.
  expect(others[0].validation).toBe("none");
  const said = await artE(`gate ${runId} --fail-under eval:few_turns=0.95`);
  expect(said.stdout).toMatch(/; not validated: the eval was never tested$/m);
  const refusal = "Cannot gate on eval:few_turns: the eval was never tested.";
  const strict = "--fail-under eval:few_turns=0.95 --require-validated";
  expect(await artE(`gate ${runId} ${strict}`)).toMatchObject({ code: 2, stderr: expect.stringContaining(refusal) });
  const before = (await json("runs list")).length;
  const refused = await artE(`${line.replace("r.json", "s.json")} --scorers eval:few_turns ${strict}`, variables);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(refusal) });
  expect((await json("runs list")).length).toBe(before);
});

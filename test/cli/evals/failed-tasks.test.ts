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
    if (fails(asked?.id)) return { fail: "status", status: 400, message: "no such thing" };
    return { toolCalls: [{ name: "return_final_answer", arguments: { answer: "It is so.", sources: [] } }] };
  });
});
afterAll(() => provider.close());

const json = async (line: string, code = 0) => {
  const ran = await artE(`${line} --json`);
  expect({ line, code: ran.code, stderr: code === 0 ? ran.stderr : "" }).toEqual({ line, code, stderr: "" });
  return JSON.parse(ran.stdout);
};

it("art-e run, art-e evals run and art-e score apply evals to failed tasks, and a gate counts the verdicts", async () => {
  const variables = { OPENAI_API_KEY: "key", OPENAI_BASE_URL: provider.baseUrl("openai-chat") };
  const imported = {
    ...{ name: "comes_to_an_end", version: 1, kind: "rules", reference: false, criterion: "It ends." },
    pass: { all: [{ feature: "ended", at_least: 1 }] },
    origin: { by: "person", seed: null, labels: null, parent: null },
  };
  write("ends.json", JSON.stringify(imported));
  await json("evals import ends.json");
  await json("evals use comes_to_an_end --anyway");
  const line = `run -a email-search --model-id openai/m --price 1,1 --dataset ${QUESTIONS} -l 0 -o r.json --quiet --no-judge`;
  expect(await artE(`${line} --scorers exactMatch,eval:comes_to_an_end`, variables)).toMatchObject({ code: 0 });
  const rate = { value: ended / total, n: total };
  const { scores, runId } = JSON.parse(read("r.json"));
  expect(scores["eval:comes_to_an_end"]).toMatchObject({ ...rate, overAll: rate });

  const { evals, traces } = await json(`evals run comes_to_an_end --run ${runId}`);
  expect({ traces, passed: evals[0].passed, failed: evals[0].failed }).toEqual({
    ...{ traces: total, passed: ended, failed: total - ended },
  });
  await json(`score --run ${runId} --scorers exactMatch,eval:comes_to_an_end --no-judge`);
  const { gates } = await json(`gate ${runId} --fail-under eval:comes_to_an_end=0.9 --junit r.xml`, 3);
  expect(gates[0]).toMatchObject({ passed: false, figure: rate, coverage: { judged: total, tasks: total } });
  expect(read("r.xml")).toContain(`tests="${total}" failures="${total - ended}" errors="0"`);
});

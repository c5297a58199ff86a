import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { jsonOf } from "./json-output.js";
import { PLANTED, PlantedAgent, type PlantedMode } from "./planted-agent.js";

const { artE, write, read } = workFolder({ mail: MAIL });
const agent = new PlantedAgent();
const MODES = Object.keys(PLANTED) as PlantedMode[];

let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider((request) => agent.reply(request));
});
afterAll(() => provider.close());

const json = jsonOf(artE);

describe("the template for a planted failure", () => {
  it.each(MODES)("passes validation (%s)", async (mode) => {
    const variables = { OPENAI_API_KEY: "key", OPENAI_BASE_URL: provider.baseUrl("openai-chat") };
    const line = `run -a email-search --model-id openai/${mode} --price 1,1 --dataset ${QUESTIONS} -l 40 -o ${mode}.json --quiet --no-judge`;
    expect(await artE(line, variables)).toMatchObject({ code: 0, stderr: "" });
    const { runId, taskResults } = JSON.parse(read(`${mode}.json`));
    const labels = taskResults.map(({ traceId, question }: { traceId: string; question: string }) => ({
      trace: traceId,
      source: "person",
      label: agent.planted.get(`${mode} ${question}`) === true ? "bad" : "good",
    }));
    write(`${mode}.jsonl`, labels.map((label: object) => JSON.stringify(label)).join("\n"));
    await json(`evals label ${runId} --from ${mode}.jsonl --mode ${mode}`);

    const [{ templates }] = await json(`evals suggest --mode ${mode}`);
    const chosen = templates.filter(({ rejection }: { rejection: string | null }) => rejection === null);
    expect(chosen.map(({ name }: { name: string }) => name)).toEqual([PLANTED[mode]]);

    const { agreement, passed, heldOutReads } = (await json(`evals test ${PLANTED[mode]} --mode ${mode}`))[0];
    expect(passed).toBe(true);
    expect(heldOutReads).toBe(1);
    expect(agreement.truePositiveRate.value).toBeGreaterThanOrEqual(0.95);
    expect(agreement.trueNegativeRate.value).toBeGreaterThanOrEqual(0.95);
  });
});

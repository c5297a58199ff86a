import { beforeAll, describe, expect, it } from "vitest";
import { jsonLines, QUESTIONS, workFolder } from "../art-e.js";
import { briefEval, labelLines } from "./brief-answers.js";
import { jsonOf } from "./json-output.js";

const { artE, read, readJson, write } = workFolder({ demo: "answered" });

const json = jsonOf(artE);

let runId = "";
let labels: readonly { readonly label: string }[] = [];
/** The fraction of good answers among all answers. */
let truth = 0;

beforeAll(async () => {
  const { runId: id, taskResults } = readJson("results.json");
  runId = id;
  write("labels.jsonl", labelLines(taskResults, { drawn: "all" }));
  labels = jsonLines(read("labels.jsonl"));
  truth = labels.filter(({ label }) => label === "good").length / labels.length;
  // The labels allow 14 words, so the eval makes errors.
  write("brief.json", briefEval(16));
  await json("evals label --from labels.jsonl");
  await json("evals add brief.json");
  await artE("evals test brief");
});

describe("a run's corrected rate", () => {
  it("follows from the run's own random labels", async () => {
    const { evals } = await json(`evals run brief@1 --run ${runId}`);
    const [{ corrected, passRate, labelsOfRun, otherAgents }] = evals;
    expect(labelsOfRun).toBeGreaterThanOrEqual(20);
    expect(passRate.value).toBeGreaterThan(truth);
    expect(Math.abs(corrected.value - truth)).toBeLessThan(Math.abs(passRate.value - truth));
    expect(corrected.low).toBeLessThanOrEqual(truth);
    expect(corrected.high).toBeGreaterThanOrEqual(truth);
    expect(otherAgents).toBeNull();
    const { stdout } = await artE(`evals run brief@1 --run ${runId}`);
    expect(stdout).toContain(
      `The corrected rate of brief is estimated from ${labelsOfRun} random labels of these traces by people.`,
    );
  });

  it("follows from enriched labels, weighted by the probabilities of their draws", async () => {
    const drawn = labels.map((line, i) => ({
      // As if traces with an even number had been drawn with twice the probability of the others.
      ...line,
      drawn: "enriched",
      drawn_from: labels.length + 10 - i,
      probability: (i % 2 === 0 ? 4 : 2) / 3 / (labels.length + 10 - i),
    }));
    write("enriched.jsonl", drawn.map((line) => JSON.stringify(line)).join("\n"));
    await json("evals label --from enriched.jsonl --mode rich");
    await artE("evals test brief --mode rich");
    const figures = await json("evals show brief");
    expect(figures.test.report.agreement.weighted).toBeDefined();
    const { stdout } = await artE(`evals run brief@1 --run ${runId}`);
    expect(stdout).toMatch(
      /brief is estimated from \d+ enriched labels of these traces by people, weighted by the probability of each draw\./,
    );
    const { evals } = await json(`evals run brief@1 --run ${runId}`);
    expect(evals[0]).toMatchObject({ isWeighted: true });
    await artE("evals test brief");
  });

  it("follows from all traces, and not from random ones, if an enriched pass drew every trace", async () => {
    const drawn = labels.map((line, i) => ({
      ...line,
      drawn: "enriched",
      drawn_from: labels.length - i,
      probability: i % 2 === 0 ? 1 / (labels.length - i) : Math.min(1, 2 / (labels.length - i)),
    }));
    write("every.jsonl", drawn.map((line) => JSON.stringify(line)).join("\n"));
    await json("evals label --from every.jsonl --mode every");
    await artE("evals test brief --mode every");
    const { stdout } = await artE(`evals run brief@1 --run ${runId}`);
    expect(stdout).toContain(
      `The corrected rate of brief is estimated from people's labels of all ${labels.length} traces.`,
    );
    await artE("evals test brief");
  });

  it("comes with the agents that the eval was validated on, if they are others", async () => {
    await artE("agents clone baseline second");
    expect((await artE(`run -a second --dataset ${QUESTIONS} -l 5 -o five.json --quiet`)).code).toBe(0);
    const { evals } = await json("evals run brief@1 --run latest");
    expect(evals[0]).toMatchObject({
      labelsOfRun: 0,
      otherAgents: {
        here: [{ agentId: "second", version: 1, model: "offline/baseline" }],
        validated: [{ agentId: "baseline", version: 1, model: "offline/baseline" }],
      },
    });
    const { stdout } = await artE("evals run brief@1 --run latest");
    expect(stdout).toContain("brief was validated on another agent, baseline@1 (offline/baseline, prompt ");
    expect(stdout).toContain("art-e evals label run_");
  });
});

import { describe, it } from "vitest";
import { boxLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";

const { artE, write } = workFolder({ mail: MAIL });

const EVAL = `eval-search --dataset ${QUESTIONS}`;

describe("eval-search", () => {
  it.concurrent("measures all questions of the dataset, in a box", async ({ expect }) => {
    const { code, stdout, stderr } = await artE(EVAL);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(Object.keys(boxLines(stdout))).toEqual([
      ...["Questions", "Recall@1", "Recall@5", "Recall@10", "MRR@10"],
      ...["Latency p50 / p95 / p99", "Not among the first ten"],
    ]);
    expect(boxLines(stdout)).toMatchObject({
      Questions: "73",
      "Recall@10": "1.000 [0.950, 1.000] n=73",
      "Not among the first ten": "none",
    });
  });

  it.concurrent("with --json writes one document, over the questions chosen", async ({ expect }) => {
    const { stdout } = await artE(`${EVAL} --ids 3,4 --json`);
    const share = expect.toSatisfy((value) => typeof value === "number" && value >= 0 && value <= 1);
    const ms = expect.any(Number);
    expect(JSON.parse(stdout)).toEqual({
      questions: 2,
      recallAt1: share,
      recallAt5: share,
      recallAt10: 1,
      mrrAt10: share,
      latencyMs: { p50: ms, p95: ms, p99: ms },
      missed: [],
      estimates: Object.fromEntries(
        ["recallAt1", "recallAt5", "recallAt10", "mrrAt10"].map((name) => [name, expect.objectContaining({ n: 2 })]),
      ),
      ranks: [3, 4].map((id) => ({ id, rank: expect.any(Number) })),
    });
  });

  it.concurrent("names the questions whose mail it did not find", async ({ expect }) => {
    const hopeless = { id: 8, question: "zzyzx?", answer: "", message_ids: ["<none@example.com>"], how_realistic: 1 };
    write(
      "no.jsonl",
      JSON.stringify({ ...hopeless, inbox_address: "ruth.whitlock@kestrelplains.example", query_date: "2001-01-01" }),
    );
    const { code, stdout } = await artE("eval-search --dataset no.jsonl");
    expect(code).toBe(0);
    expect(boxLines(stdout)).toMatchObject({ "Recall@10": "0.000 [0.000, 0.793] n=1", "Not among the first ten": "8" });
  });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { beforeAll, describe, expect, it } from "vitest";
import { BIN, jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";

const { artE, path, read, write } = workFolder({ mail: MAIL });

beforeAll(async () => {
  expect(await artE(`run -a baseline --dataset ${QUESTIONS} -l 30 --quiet`)).toMatchObject({ code: 0 });
});

/** Types these lines. */
async function label(lines: readonly string[], flags: readonly string[] = []) {
  const child = spawn(process.execPath, [BIN, "evals", "label", "--json", ...flags], { cwd: path("."), env: {} });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  child.stdin.end(`${lines.join("\n")}\n`);
  const [code] = await once(child, "close");
  return { code, stderr, ...(code === 0 ? { summary: JSON.parse(stdout) } : {}) };
}

describe("labeling in the terminal", () => {
  it("saves each label immediately, explains unknown input, and stops at the end of the input", async () => {
    const { summary, stderr } = await label(["g", "b the price is of another year", "x", "s", "t", "good"]);
    expect(summary).toMatchObject({ labeled: 4, labels: { good: 2, bad: 1, neutral: 0, skip: 1 } });
    expect(stderr).toContain('Unknown key "x". Press g, b, s, t or q.');
    expect(stderr).toContain("Gold:");
  });

  it("shows a tenth of the traces twice, and reports how often the labels agree", async () => {
    const { summary, stderr } = await label([...Array.from({ length: 20 }, () => "g"), "q"]);
    expect(stderr).toContain("asked again");
    expect(summary.labeled).toBe(20);
    // The first session starts without labels, so the first repeat comes later.
    expect(summary.selfAgreement.n).toBeGreaterThanOrEqual(1);
    expect(summary.selfAgreement.value).toBeLessThanOrEqual(1);
  });

  it("stores labels per criterion, and stops when all traces are labeled", async () => {
    const all = Array.from({ length: 40 }, () => "b");
    expect((await label(all, ["--mode", "tone"])).summary).toMatchObject({ labels: { bad: 30 } });
    const { code, stderr } = await label([], ["--mode", "tone"]);
    expect(code).toBe(2);
    expect(stderr).toContain("All traces are labeled by a person.");
  });

  it("draws likely failures more often, says so, and keeps the probabilities in a labels file", async () => {
    const { summary, stderr } = await label(["b", "g", "g"], ["--mode", "rich", "--enriched"]);
    expect(stderr).toContain("likely failures more often (by score, judge, evals and length)");
    expect(summary).toMatchObject({ labeled: 3, drawn: { random: 0, enriched: 3 } });
    expect((await label(["g"], ["--mode", "plain"])).stderr).toContain("Traces in random order. Each has the same");
    await artE("evals label --list --mode rich -o rich.jsonl");
    const lines = jsonLines(read("rich.jsonl"));
    expect(lines.map(({ drawn, drawn_from }) => [drawn, drawn_from])).toEqual([30, 29, 28].map((n) => ["enriched", n]));
    for (const { probability } of lines) expect(probability).toBeGreaterThan(1 / 300);
    await artE("evals label --from rich.jsonl --mode copied");
    await artE("evals label --list --mode copied -o copied.jsonl");
    expect(read("copied.jsonl")).toBe(read("rich.jsonl"));
    write("incomplete.jsonl", JSON.stringify({ ...lines[0], probability: undefined }));
    expect((await artE("evals label --from incomplete.jsonl")).stderr).toContain(
      "incomplete.jsonl, line 1: probability: expected drawn_from and probability for an enriched draw",
    );
  });

  describe("disagreements of two annotators", () => {
    const by = (name: string) => ["--mode", "brief", "--annotator", name];
    const disagreements = async () =>
      JSON.parse((await artE("evals label --mode brief --disagreements --json")).stdout).disagreements;

    beforeAll(async () => {
      await label(["g", "b too long", "g", "s"], by("ann"));
      await label(["g", "g", "b it rambles", "g"], by("ben"));
    });

    it("appear in a list, with the reasons", async () => {
      const listed = await artE("evals label --mode brief --disagreements");
      expect(listed.stdout).toMatch(/art-e evals label run_\S+ --adjudicate --mode brief$/m);
      const found = await disagreements();
      expect(found).toHaveLength(2);
      expect(found).toContainEqual({
        traceId: expect.any(String),
        adjudicated: null,
        labels: [
          { annotator: "ann", label: "bad", note: "too long" },
          { annotator: "ben", label: "good", note: null },
        ],
      });
    });

    it("end with a decision that counts above later labels of the annotators", async () => {
      const { summary, stderr } = await label(["b it is too long", "b"], ["--mode", "brief", "--adjudicate"]);
      expect(stderr).toContain("ann: bad, because too long");
      expect(stderr).toContain("ben: good");
      // Both disagree on one trace in each direction. One trace is good for both, and one is skipped by ann.
      expect(summary).toMatchObject({ labeled: 2, labels: { good: 2, bad: 2 } });
      expect(summary.betweenAnnotators).toMatchObject({ n: 3, value: 1 / 3 });
      // Both disagreements are decided. Only the label from one person can still be wrong.
      expect(summary.resolved).toBe(3 / 4);
      expect((await disagreements()).map(({ adjudicated }: { adjudicated: string }) => adjudicated)).toEqual([
        "bad",
        "bad",
      ]);
      const [{ traceId }] = await disagreements();
      await artE("evals label --list --mode brief -o labels.jsonl");
      const { writeFileSync, readFileSync } = await import("node:fs");
      expect(readFileSync(path("labels.jsonl"), "utf8")).toContain('"basis":"adjudicated"');
      const lines = ["ann", "ben"].map((annotator) =>
        JSON.stringify({ trace: traceId, source: "person", label: "good", annotator }),
      );
      writeFileSync(path("later.jsonl"), lines.join("\n"));
      expect(await artE("evals label --mode brief --from later.jsonl")).toMatchObject({ code: 0 });
      const { summary: after } = await label(["q"], by("ann"));
      expect(after).toMatchObject({ labels: { good: 2, bad: 2 } });
    });

    it("must exist for a decision", async () => {
      const { code, stderr } = await label(["g"], ["--mode", "brief", "--adjudicate"]);
      expect(code).toBe(2);
      expect(stderr).toContain("No two annotators disagree on a trace that is not adjudicated.");
    });
  });
});

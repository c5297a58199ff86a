import { spawn } from "node:child_process";
import { once } from "node:events";
import { beforeAll, describe, expect, it } from "vitest";
import { BIN, MAIL, QUESTIONS, workFolder } from "../art-e.js";

const { artE, path } = workFolder({ mail: MAIL });

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
    expect(summary).toMatchObject({ labelled: 4, labels: { good: 2, bad: 1, neutral: 0, skip: 1 } });
    expect(stderr).toContain('Unknown key "x". Press g, b, s, t or q.');
    expect(stderr).toContain("Gold:");
  });

  it("shows a tenth of the traces twice, and reports how often the labels agree", async () => {
    const { summary, stderr } = await label([...Array.from({ length: 20 }, () => "g"), "q"]);
    expect(stderr).toContain("asked again");
    expect(summary.labelled).toBe(20);
    // The first session starts without labels, so the first repeat comes later.
    expect(summary.selfAgreement.n).toBeGreaterThanOrEqual(1);
    expect(summary.selfAgreement.value).toBeLessThanOrEqual(1);
  });

  it("stores labels per criterion, and stops when all traces are labeled", async () => {
    const all = Array.from({ length: 40 }, () => "b");
    expect((await label(all, ["--criterion", "tone"])).summary).toMatchObject({ labels: { bad: 30 } });
    const { code, stderr } = await label([], ["--criterion", "tone"]);
    expect(code).toBe(2);
    expect(stderr).toContain("All traces are labeled by a person.");
  });
});

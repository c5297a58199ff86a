import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { BIN, MAIL, QUESTIONS, workFolder } from "../art-e.js";

/** Open coding in the terminal, and grouping the notes with commands, on a real run. */

const { artE, path } = workFolder({ mail: MAIL });

interface NoteCount {
  readonly note: string;
  readonly traces: number;
}

beforeAll(async () => {
  expect(await artE(`run -a baseline --dataset ${QUESTIONS} -l 30 --quiet`)).toMatchObject({ code: 0 });
});

/** Runs a command with these lines on stdin. */
async function typed(words: readonly string[], lines: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [BIN, ...words, "--json"], { cwd: path("."), env });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  child.stdin.end(`${lines.join("\n")}\n`);
  const [code] = await once(child, "close");
  return { code, stderr, result: code === 0 ? JSON.parse(stdout) : null };
}

const json = async (line: string) => JSON.parse((await artE(`${line} --json`)).stdout);
const modes = () => json("evals modes");
const labelsOf = async (criterion: string): Promise<Record<string, number>> => {
  const { labels } = await json(`evals label --list --mode ${criterion}`);
  const counts: Record<string, number> = {};
  for (const { label } of labels as { label: string }[]) counts[label] = (counts[label] ?? 0) + 1;
  return counts;
};

/** Twenty traces: eight with nothing wrong, six with a wrong year, four without a source, two too long. */
const LINES = [
  "n",
  "the year is wrong",
  "n",
  "no source",
  "n",
  "wrong YEAR",
  "too long",
  "n",
  // 1 is the most frequent earlier note. Ties are in alphabetical order.
  "The year is wrong",
  "1",
  "no source",
  "n",
  "n",
];

describe("open coding in the terminal", () => {
  it("saves a note per trace, offers earlier notes by number, and reverts a note on request", async () => {
    const { result, stderr } = await typed(
      ["evals", "code", "--random", "--limit", "20"],
      [...LINES, "too much", "u", "no source"],
    );
    // Six new traces are left, and one repetition.
    expect(result).toMatchObject({ coded: 14, left: 7, taxonomy: { coded: 14, nothingWrong: 6, modes: [] } });
    expect(result.taxonomy.ungrouped).toEqual([
      { note: "no source", traces: 3 },
      { note: "the year is wrong", traces: 3 },
      { note: "too long", traces: 1 },
      { note: "wrong YEAR", traces: 1 },
    ]);
    expect(stderr).toContain("  1  the year is wrong (1)");
    expect(stderr).toContain("Question:");
  });

  it("continues the pass with the remaining traces, and shows an entire trace", async () => {
    const { result, stderr } = await typed(
      ["evals", "code", "--random", "--limit", "20"],
      ["t", "u", "", "n", "n", "n", "n", "n", "n"],
    );
    expect(result).toMatchObject({ coded: 6, left: 0, taxonomy: { coded: 20, nothingWrong: 12 } });
    expect(stderr).toContain("Nothing to undo.");
    expect(stderr).toContain("Cannot save the note: expected a note.");
    const { code, stderr: complete } = await typed(["evals", "code", "--random", "--limit", "20"], ["n"]);
    expect([code, complete]).toEqual([2, expect.stringContaining("All traces of the pass are coded.")]);
  });
});

describe("the failure modes of a run", () => {
  it("come from parts of notes, and give every grouped trace a label for every mode", async () => {
    expect(await json("evals modes assign wrong_year year")).toEqual({ mode: "wrong_year", traces: 4 });
    expect(await json("evals modes assign unsourced source")).toEqual({ mode: "unsourced", traces: 3 });
    // One note is not grouped yet, so its trace does not have labels.
    expect(await labelsOf("wrong_year")).toEqual({ bad: 4, good: 15 });
    expect(await labelsOf("unsourced")).toEqual({ bad: 3, good: 16 });
    expect((await modes()).ungrouped).toEqual([{ note: "too long", traces: 1 }]);
    await artE("evals modes assign long too");
    expect(await labelsOf("wrong_year")).toEqual({ bad: 4, good: 16 });
    expect(await labelsOf("long")).toEqual({ bad: 1, good: 19 });
    const { modes: found } = await modes();
    expect(found[0]).toMatchObject({ name: "wrong_year", traces: 4, fix: "eval", rate: { value: 0.2, n: 20 } });
    // The Wilson interval of 4 of 20.
    expect(found[0].rate.low).toBeCloseTo(0.0807, 3);
    expect(found[0].rate.high).toBeCloseTo(0.416, 3);
  });

  it("appear with a bar chart", async () => {
    const { stdout } = await artE("evals modes");
    expect(stdout).toContain("20 coded traces, 12 with nothing wrong");
    expect(stdout).toMatch(/wrong_year\s+4\s+0\.200.*█{24}/);
    expect(stdout).toMatch(/unsourced\s+3\s+0\.150.*█{18}[^█]/);
    expect(stdout).toMatch(/look again at the traces of each mode, .*: art-e evals label run_\S+ --confirm$/m);
  });

  it("keep their labels if renamed, split or merged", async () => {
    expect(await json("evals modes rename wrong_year old_year")).toEqual({ mode: "old_year", traces: 4 });
    expect(await labelsOf("wrong_year")).toEqual({});
    expect(await labelsOf("old_year")).toEqual({ bad: 4, good: 16 });
    const split = await typed(["evals", "modes", "split", "old_year", "shouted", "wrong year"], []);
    expect(split.result).toEqual({ mode: "shouted", traces: 1 });
    expect(await labelsOf("old_year")).toEqual({ bad: 3, good: 17 });
    expect(await labelsOf("shouted")).toEqual({ bad: 1, good: 19 });
    expect(await json("evals modes merge shouted old_year")).toEqual({ mode: "old_year", traces: 1 });
    expect(await labelsOf("old_year")).toEqual({ bad: 4, good: 16 });
    expect(await labelsOf("shouted")).toEqual({});
  });

  it("lose notes without losing the notes themselves", async () => {
    await artE("evals modes unassign long too");
    expect((await modes()).ungrouped).toEqual([{ note: "too long", traces: 1 }]);
    expect(await json("evals modes delete long")).toEqual({ mode: "long", traces: 0 });
    expect(await labelsOf("long")).toEqual({});
    await artE("evals modes assign long too");
  });

  it("appear in errors about unknown modes and notes", async () => {
    const errorOf = async (line: string) => (await artE(line)).stderr;
    expect(await errorOf("evals modes delete tone")).toContain('Unknown failure mode "tone".');
    expect(await errorOf("evals modes delete tone")).toContain("Available: long, old_year, unsourced.");
    expect(await errorOf("evals modes assign tone rude")).toContain('No note contains "rude".');
    expect((await modes()).modes).toHaveLength(3);
    expect(await errorOf("evals modes rename long unsourced")).toContain("The failure mode unsourced already exists.");
    expect(await errorOf("evals modes assign overall year")).toContain("expected a name other than overall");
  });

  it("get a note's modes for later traces with the same note", async () => {
    const { result } = await typed(["evals", "code", "--random", "--limit", "21"], ["NO source"]);
    expect(result.taxonomy).toMatchObject({ coded: 21, ungrouped: [] });
    expect(await labelsOf("unsourced")).toEqual({ bad: 4, good: 17 });
  });

  it("keep a person's direct label, which takes precedence over the note", async () => {
    const { labels } = await json("evals label --list --mode unsourced");
    const { traceId } = labels.find(({ label }: { label: string }) => label === "bad");
    const { writeFileSync } = await import("node:fs");
    writeFileSync(path("direct.jsonl"), JSON.stringify({ trace: traceId, source: "person", label: "good" }));
    await artE("evals label --mode unsourced --from direct.jsonl");
    await artE("evals modes rename unsourced no_source");
    await artE("evals modes assign no_source source");
    const { result } = await typed(["evals", "label", "--mode", "no_source"], ["q"]);
    expect(result.labels).toMatchObject({ bad: 3, good: 18 });
    const mode = (await modes()).modes.find(({ name }: { name: string }) => name === "no_source");
    expect(mode).toMatchObject({ traces: 3, rate: { value: 3 / 21 }, notes: [{ traces: 4 }] });
  });
});

describe("evals suggest for coded modes", () => {
  it("says per mode whether it needs labels or a fix in the prompt", async () => {
    await artE("evals modes describe old_year --fix prompt");
    const advice = await json("evals suggest");
    expect(advice.map(({ mode, kind }: { mode: { name: string }; kind: string }) => [mode.name, kind])).toEqual([
      ["old_year", "prompt"],
      ["no_source", "labels"],
      ["long", "labels"],
    ]);
    const { stdout } = await artE("evals suggest");
    expect(stdout).toContain("Needs a fix in the prompt. It is marked as a fix in the prompt.");
    expect(stdout).toContain("Needs more labels. Too few labels to choose and test evals: ");
    expect(stdout).toMatch(/Extend the pass: art-e evals code run_\S+ --limit 71$/m);
  });
});

describe("evals modes propose", () => {
  let provider: FakeProvider;
  let reply: unknown;
  let prompt = "";

  beforeAll(async () => {
    provider = await startFakeProvider((request) => {
      prompt = request.question;
      return { toolCalls: [{ name: "record_modes", arguments: reply as never }] };
    });
    await artE("evals modes unassign old_year year");
    await artE("evals modes unassign long too");
  });
  afterAll(() => provider.close());

  const propose = (lines: readonly string[]) =>
    typed(["evals", "modes", "propose", "--model", "openai/writer", "--price", "1,1"], lines, {
      OPENAI_API_KEY: "key-of-a-test",
      OPENAI_BASE_URL: provider.baseUrl("openai-chat"),
    });

  it("changes nothing without the person, and drops numbers of unknown notes", async () => {
    reply = {
      modes: [
        { name: "stale", sentence: "The year is right.", notes: [1, 99] },
        { name: "wordy", sentence: "The answer is short.", notes: [1, 2] },
      ],
    };
    const before = await modes();
    const { result } = await propose([]);
    expect(prompt).toMatch(/<notes id="[0-9a-f]{16}">\n1\. the year is wrong \(3\)\n2\. too long \(1\)/i);
    expect(result.accepted).toEqual([]);
    expect(
      result.modes.map(({ notes }: { notes: NoteCount[] }) => notes.map(({ note }) => note.toLowerCase())),
    ).toEqual([["the year is wrong"], ["too long"]]);
    expect(await modes()).toEqual(before);
  });

  it("saves accepted modes, possibly under another name", async () => {
    const { result } = await propose(["y", "Not a name", "verbose"]);
    expect(result.accepted).toEqual(["stale", "verbose"]);
    const { modes: found } = await modes();
    expect(found).toContainEqual(expect.objectContaining({ name: "stale", traces: 3, sentence: "The year is right." }));
    expect(found).toContainEqual(expect.objectContaining({ name: "verbose", traces: 1 }));
  });

  it("rejects a reply that is not a proposal", async () => {
    reply = { modes: [{ name: "Not a name", sentence: "x", notes: [1] }] };
    const { code, stderr } = await propose(["y"]);
    expect(code).toBe(1);
    expect(stderr).toContain("Cannot use the proposal of openai/writer: modes.0.name");
  });
});

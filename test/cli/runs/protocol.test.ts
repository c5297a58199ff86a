import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { demoQuestions, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

/** `run --protocol art`, and what `compare --published` says of a run that was made so. */

/** Those of corbt/enron_emails_sample_questions that OpenPipe's ART leaves out. */
const KNOWN_BAD = [49, 101, 129, 171, 208, 266, 327];

const { artE, readJson, write, path } = workFolder({ mail: MAIL });

let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider(({ tools }) => {
    if (tools.length === 0) return { content: "True" };
    const verdict = { name: "record_verdict", arguments: { reason: "so it is", verdict: "correct" } };
    const answer = { name: "return_final_answer", arguments: { answer: "so it is", sources: [] } };
    return { toolCalls: [JSON.stringify(tools).includes(verdict.name) ? verdict : answer] };
  });
  // Twice as many questions as the protocol takes, the bad ones among them, and each ninth with two gold mails.
  const questions = Array.from({ length: 400 }, (_, i) => {
    const question = demoQuestions[i % demoQuestions.length];
    const message_ids = i % 9 === 0 ? ["<a@x>", "<b@x>"] : ["<a@x>"];
    return JSON.stringify({ ...question, id: i + 1, split: "test", message_ids });
  });
  write("copy.jsonl", questions.join("\n"));
});
afterAll(() => provider.close());

const keys = () => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });
const run = (line: string) => artE(`run --protocol art --dataset copy.jsonl ${line}`, keys());

describe("run --protocol art", () => {
  it("sets agent, questions, cutoff and judge at once, with a file of questions too", async () => {
    const { code, stderr } = await run("-o art.json");
    expect(code).toBe(0);
    expect(stderr).toBe(
      `--protocol art: the mail in ./art-e.db was imported without ART's filter. For it, import into a file of its own: art-e import --filter art --db FILE.\n` +
        `Left out as known to be bad: questions ${KNOWN_BAD.join(", ")}, taking copy.jsonl for a copy of corbt/enron_emails_sample_questions.\n` +
        "art-e: the tool choice required is sent as auto to anthropic/claude-sonnet-5-5: claude-sonnet-5-5 thinks before it calls a tool, and cannot be made to call one.\n",
    );
    const { agentId, split, settings, taskResults } = resultsSchema.parse(readJson("art.json"));
    expect({ agentId, split }).toEqual({ agentId: "art-e", split: "test" });
    expect(settings).toMatchObject({
      cutoff: "off",
      mailFilter: "none",
      maxTurns: 10,
      maxTokens: 2048,
      toolCalls: "first",
      judge: { protocol: "art", votes: 1 },
      selection: { limit: 100, maxSources: 1, excludeKnownBad: true },
    });
    const wanted = Array.from({ length: 400 }, (_, i) => i + 1).filter(
      (id) => (id - 1) % 9 !== 0 && !KNOWN_BAD.includes(id),
    );
    expect(taskResults.map(({ taskId }) => taskId)).toEqual(wanted.slice(0, 100));
    expect(taskResults.every(({ scores }) => scores.judgeCorrect === 1)).toBe(true);
  });

  it("is what compare --published holds a run against, condition by condition", async () => {
    const differences = async (file: string) =>
      (await artE(`compare ${file} --published`)).stdout.split("\n").find((line) => line.startsWith("run_"));
    const art = await differences("art.json");
    expect(art).toMatch(
      /^run_\S+ differs: judge anthropic\/\S+, not gemini-2\.0-flash; questions of the file \S*copy\.jsonl, which may be others; mail not imported through ART's filter \(import --filter art\)\.$/,
    );
    const other = await artE(`run -a art-e --dataset ${QUESTIONS} --judge anthropic/x -l 3 -o other.json`, keys());
    expect(other.code).toBe(0);
    const said = await differences("other.json");
    for (const what of ["four verdicts", "several gold mails", "known bad", "first 100 questions", "(--cutoff off"]) {
      expect(said).toContain(what);
      expect(art).not.toContain(what);
    }
    const same = readJson("art.json");
    const { settings } = same;
    const exact = { ...settings, mailFilter: "art", judge: { ...settings.judge, model: "google/gemini-2.0-flash" } };
    write("same.json", JSON.stringify({ ...same, settings: exact, dataset: { ...same.dataset, revision: "abc" } }));
    expect(await differences("same.json")).toMatch(/^run_\S+ was made under these conditions\.$/);
  });

  it("gives way to flags beside it, and is recorded by what it has set", async () => {
    const { code } = await run("-a email-search -l 2 --cutoff query_date --no-judge -o own.json");
    expect(code).toBe(0);
    const { agentId, settings, totalTasks } = resultsSchema.parse(readJson("own.json"));
    expect({ agentId, totalTasks, cutoff: settings.cutoff, judge: settings.judge }).toEqual({
      ...{ agentId: "email-search", totalTasks: 2, cutoff: "query_date", judge: null },
    });
  });

  it("says nothing of mail that came through ART's filter", async () => {
    expect((await artE(`import ${MAIL} --filter art --db filtered.db --quiet`)).code).toBe(0);
    const { code, stderr } = await run("-l 1 --db filtered.db -o filtered.json");
    expect({ code, stderr: stderr.includes("filter") }).toEqual({ code: 0, stderr: false });
    expect(resultsSchema.parse(readJson("filtered.json")).settings.mailFilter).toBe("art");
  });

  it.each([
    [
      "without a key for a judge",
      "run --protocol art -a baseline",
      "--protocol art has the answers judged, and there is no key",
    ],
    ["of another name", "run --protocol iofold -a baseline", "--protocol: expected art."],
    ["for a run that has its own", "run --resume latest --protocol art", "--protocol cannot choose anything else."],
    [
      "for an agent elsewhere",
      "run --protocol art --no-judge -a x --agent-url http://127.0.0.1:9/v1",
      "--protocol does not reach an agent of --agent-url",
    ],
  ])("is refused %s", async (_, line, message) => {
    const { code, stderr } = await artE(
      `${line} --dataset ${path("copy.jsonl")}`.replace(/(--resume.*) --dataset.*/, "$1"),
    );
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

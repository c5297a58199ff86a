import { afterEach, describe, expect, it } from "vitest";
import { questionProvenanceSchema } from "../../../src/questions/provenance.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { ParsedRequest } from "../../providers/wire-request.js";
import { jsonLines, MAIL, MARCUS, workFolder } from "../art-e.js";

/** Questions over several mails, and about what a later mail changed, by a model over HTTP. */

const { artE, read } = workFolder({ mail: MAIL });

describe("a question that cites two mails", () => {
  let provider: FakeProvider;
  afterEach(() => provider.close());

  const call = (name: string, args: object): Answer => ({
    toolCalls: [{ name, arguments: args as never }],
    usage: { inputTokens: 100, outputTokens: 10, cachedInputTokens: 0 },
  });

  interface Shown {
    readonly id: string;
    readonly date: string;
    readonly passage: string;
  }

  /** The mails of a prompt, the earliest first. */
  const shownIn = ({ question }: ParsedRequest): Shown[] =>
    [...question.matchAll(/^Message-ID: (\S+)\nDate: +(\S+)[\s\S]*?\n\n(.{10,60})/gm)]
      .map(([, id = "", date = "", passage = ""]) => ({ id, date, passage }))
      .sort((a, b) => a.date.localeCompare(b.date));

  /** `answers`: which of the two mails give the gold answer alone. */
  async function make(kind: string, answers: { earlier: boolean; later: boolean }, cited = 2) {
    let pair: Shown[] = [];
    provider = await startFakeProvider((request) => {
      const [tool] = request.tools;
      const shown = shownIn(request);
      if (tool === "record_questions") {
        // Batches are asked for side by side: the first alone gives a question.
        if (pair.length > 0) return call(tool, { questions: [] });
        pair = shown.slice(0, cited);
        const [{ passage = "" } = {}, last] = pair;
        return call(tool, {
          questions: [
            {
              question: `What did the mails say about it in the end, ${(last?.passage ?? passage).slice(0, 30)}?`,
              answer: `They said ${last?.passage ?? passage}`,
              kind,
              message_ids: pair.map(({ id }) => id),
              passages: pair.map(({ id, passage: text }) => ({ message_id: id, text })),
              how_realistic: 0.7,
            },
          ],
        });
      }
      if (tool !== "record_answer") return call("record_verdict", { reason: "so", verdict: "correct" });
      const among = pair.map(({ id }) => shown.some((one) => one.id === id));
      const isOnlyThem = shown.length === among.filter((one) => one).length && shown.length > 0;
      const [earlier, later] = among;
      const found = isOnlyThem && (earlier && later ? true : earlier ? answers.earlier : answers.later);
      return call("record_answer", { found, answer: found ? "what they said" : "", message_ids: [] });
    });
    const cache = `${kind}-${answers.earlier}-${answers.later}-${cited}`;
    const { code, stdout, stderr } = await artE(
      `questions make --model anthropic/claude-haiku-4-5 --inbox ${MARCUS} -n 1 --unanswerable 0 -o ${cache}.jsonl --cache-dir ${cache} --json`,
      { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url },
    );
    if (code !== 0) return { questions: 0, refused: stderr, checks: [] };
    const { questions } = JSON.parse(stdout);
    const [made] = jsonLines(read(`${cache}.provenance.jsonl`)).map((line) => questionProvenanceSchema.parse(line));
    const checks = made?.checks.map(({ check, reason }) => `${check}: ${reason}`) ?? [];
    return { questions, refused: "", checks };
  }

  it.each([
    ["that are needed both", { earlier: false, later: false }, "each_mail: all cited mails are needed"],
    ["that each give the answer", { earlier: true, later: true }, "each_mail: each cited mail answers it alone"],
  ])("is kept for mails %s", async (_, answers, reason) => {
    const { questions, checks } = await make("what", answers);
    expect(questions).toBe(1);
    expect(checks).toContain(reason);
  });

  it("is refused where one of them is superfluous", async () => {
    const { questions, refused } = await make("what", { earlier: false, later: true });
    expect(questions).toBe(0);
    expect(refused).toContain("some cited mails answer it without the others");
  });

  it("about a change is kept where the later mail made it", async () => {
    const { questions, checks } = await make("change", { earlier: false, later: true });
    expect(questions).toBe(1);
    expect(checks).toContain("earlier_mails: the latest mail changed it");
  });

  it("about a change is refused where the earlier mail says so already, or none is cited", async () => {
    expect((await make("change", { earlier: true, later: true })).refused).toContain(
      "the earlier mails give the gold answer already",
    );
    await provider.close();
    expect((await make("change", { earlier: false, later: true }, 1)).refused).toContain(
      "it asks for a change and cites one mail",
    );
  });
});

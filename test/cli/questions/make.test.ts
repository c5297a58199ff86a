import { mkdirSync } from "node:fs";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { questionProvenanceSchema } from "../../../src/questions/provenance.js";
import { questionSchema } from "../../../src/tasks/question.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { ParsedRequest } from "../../providers/wire-request.js";
import { jsonLines, MAIL, MARCUS, workFolder } from "../art-e.js";

const call = (name: string, args: object): Answer => ({
  toolCalls: [{ name, arguments: args as never }],
  usage: { inputTokens: 1_000, outputTokens: 100, cachedInputTokens: 0 },
});

describe("making and checking questions", () => {
  /** Questions from patterns and from a model over HTTP, all of them checked. */

  const { artE, path, read, write } = workFolder({ mail: MAIL });
  const made = (file: string) => jsonLines(read(file)).map((line) => questionSchema.parse(line));
  const provenance = (file: string) => jsonLines(read(file)).map((line) => questionProvenanceSchema.parse(line));

  describe("art-e questions make with patterns", () => {
    beforeAll(async () => {
      const { code, stderr } = await artE("questions make -n 20 -o patterns.jsonl --quiet");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    });

    it("writes questions for every mailbox, whose answers the search can find", async () => {
      const questions = made("patterns.jsonl");
      expect(questions.map(({ id }) => id)).toEqual(questions.map((_, i) => i + 1));
      expect(new Set(questions.map((one) => one.inbox_address)).size).toBe(3);
      const { stdout } = await artE("eval-search --dataset patterns.jsonl --json");
      expect(JSON.parse(stdout).recallAt10).toBeGreaterThan(0.8);
    });

    it("records how each question was made, and that it is synthetic", () => {
      const beside = provenance("patterns.provenance.jsonl");
      expect(beside.map(({ id }) => id)).toEqual(made("patterns.jsonl").map(({ id }) => id));
      expect(beside.every(({ made_by, synthetic }) => made_by === "offline/patterns" && synthetic)).toBe(true);
    });

    it("dates unanswerable questions before the email that answers them", async () => {
      const beside = provenance("patterns.provenance.jsonl");
      const early = made("patterns.jsonl").filter((_, i) => beside[i]?.unanswerable === "mail_later");
      expect(early).toHaveLength(2);
      for (const { id, answer, message_ids, query_date } of early) {
        expect({ answer, message_ids }).toEqual({ answer: "I don't know", message_ids: [] });
        const source = beside[id - 1]?.passages[0]?.message_id ?? "";
        const { stdout } = await artE(["show", source, "--json"]);
        expect(JSON.parse(stdout).date.slice(0, 10) > query_date).toBe(true);
      }
    });

    it("reports that they are for English if the mail is in another language", async () => {
      mkdirSync(path("german"));
      for (let i = 0; i < 4; i++) {
        const text = `Guten Tag, die Lieferung Nummer ${i} kommt erst in der nächsten Woche, weil der Hafen geschlossen ist.`;
        write(
          `german/${i}.eml`,
          `From: max@x.example\nTo: ida@x.example\nSubject: Lieferung\nDate: Mon, 1${i} May 2001 10:00:00 +0000\n\n${text}\n`,
        );
      }
      expect(await artE("import german --db german.db --quiet")).toMatchObject({ code: 0 });
      const { code, stderr } = await artE("questions make -n 50 -o german.jsonl --db german.db --inbox ida@x.example");
      expect(code).toBe(1);
      expect(stderr).toContain(
        "offline/patterns finds values in English, and none of 4 emails are in English. Pass --model PROVIDER/MODEL",
      );
    });

    it("writes the same questions for the same seed", async () => {
      await artE("questions make -n 20 -o again.jsonl");
      expect(read("again.jsonl")).toBe(read("patterns.jsonl"));
    });

    it("writes questions that can be run", async () => {
      expect(await artE("run -a baseline --dataset patterns.jsonl -l 2 --quiet")).toMatchObject({ code: 0 });
    });

    it("writes different questions if the seed differs, and keeps each mailbox in one split", async () => {
      await artE("questions make -n 20 --seed 2 --train 0.34 -o split.jsonl");
      const texts = (file: string) => made(file).map(({ question }) => question);
      expect(texts("split.jsonl")).not.toEqual(texts("patterns.jsonl"));
      const splits = new Map<string, Set<string | undefined>>();
      for (const { inbox_address, split } of made("split.jsonl")) {
        splits.set(inbox_address, (splits.get(inbox_address) ?? new Set()).add(split));
      }
      expect([...splits.values()].map((one) => [...one].join()).sort()).toEqual(["test", "test", "train"]);
    });

    it("reports when the mail yields no more questions", async () => {
      const { code, stdout } = await artE(`questions make --inbox ${MARCUS} -n 500 -o all.jsonl`);
      expect(code).toBe(0);
      expect(stdout).toContain("(no more questions can be made from the mail)");
    });

    it("mentions --min-chars if many emails are too short", async () => {
      const some = await artE("questions make -n 500 --min-chars 600 -o long.jsonl");
      expect(some.stdout).toMatch(/^Pass --min-chars 300 to include shorter emails: \d+ emails are too short\.$/m);
      const none = await artE("questions make -n 5 --min-chars 5000 -o none.jsonl");
      expect(none.code).toBe(1);
      expect(none.stderr).toContain("Pass --min-chars 2500 to include");
    });
  });

  describe("art-e questions make", () => {
    it.each([
      [
        "an unknown mailbox",
        "--inbox marcus.hail@kestrelplains.example -o x.jsonl",
        /Unknown mailbox ".*"\.\n.*Did you mean marcus\.hale/,
      ],
      [
        "a file that is not a dataset in this format",
        "-o x.txt",
        /expected a \.jsonl, \.csv or \.parquet file, got x\.txt/,
      ],
      ["the database", "-o art-e.db.jsonl --db art-e.db.jsonl", /art-e\.db\.jsonl/],
      [
        "a cost limit for a model whose price is unknown",
        "-o x.jsonl --model openai/unheard-of --base-url http://127.0.0.1:9 --max-cost 1",
        /price of openai\/unheard-of is unknown/,
      ],
      ["a missing output path", "", /--output/],
    ])("rejects %s", async (_, flags, message) => {
      const { code, stderr } = await artE(`questions make ${flags}`);
      expect(code).toBe(2);
      expect(stderr).toMatch(message);
    });

    it("does not overwrite a file of another kind", async () => {
      write("notes.jsonl", '{"mine":1}\n');
      expect(await artE("questions make -n 1 -o notes.jsonl")).toMatchObject({ code: 2 });
      expect(read("notes.jsonl")).toBe('{"mine":1}\n');
    });
  });

  describe("art-e questions make with a model", () => {
    let provider: FakeProvider;
    afterEach(() => provider.close());

    /** The first email of a prompt: its id and the start of its text. */
    function firstMail({ question }: ParsedRequest): { id: string; passage: string } {
      const [, id = "", body = ""] = /Message-ID: (\S+)[\s\S]*?\n\n(.{10,60})/.exec(question) ?? [];
      return { id, passage: body };
    }

    const longestWord = (text: string) => text.split(/[^\p{L}]+/u).reduce((a, b) => (b.length > a.length ? b : a));

    const written = (request: ParsedRequest, number: number, changes: Record<string, unknown> = {}) => {
      const { id, passage } = firstMail(request);
      return {
        question: `What did batch ${number} of the mail say about item ${number * 7}, ${longestWord(passage)}?`,
        answer: `It said ${passage}`,
        kind: "what",
        message_ids: [id],
        passages: [{ message_id: id, text: passage }],
        how_realistic: 0.7,
        ...changes,
      };
    };

    /** The server plays a writer, a checker and a judge, depending on the tool in the request. */
    async function serve(roles: {
      /** The questions of a batch, or null if the call fails. */
      write: (request: ParsedRequest, batch: number) => unknown[] | null;
      check?: (request: ParsedRequest) => Record<string, unknown>;
      verdict?: string;
    }): Promise<void> {
      let batch = 0;
      provider = await startFakeProvider((request) => {
        const [tool] = request.tools;
        if (tool === "record_questions") {
          const questions = roles.write(request, ++batch);
          return questions === null ? { fail: "status", status: 400, message: "no" } : call(tool, { questions });
        }
        if (tool === "record_answer") return call(tool, roles.check?.(request) ?? answersFromSource(request));
        return call("record_verdict", { reason: "so", verdict: roles.verdict ?? "correct" });
      });
    }

    const idsShown = ({ question }: ParsedRequest) =>
      [...question.matchAll(/^Message-ID: (\S+)/gm)].map(([, id]) => id);

    /** Knows the answer from the cited email, and no answer without emails or from other ones. */
    function answersFromSource(request: ParsedRequest): Record<string, unknown> {
      const shown = idsShown(request);
      const isSource = shown.length === 1;
      return { found: isSource, answer: isSource ? "what it said" : "", message_ids: isSource ? shown : [] };
    }

    const make = (flags: string) =>
      artE(`questions make --model anthropic/claude-haiku-4-5 ${flags} --cache-dir cache`, {
        ANTHROPIC_API_KEY: "test-key",
        ANTHROPIC_BASE_URL: provider.url,
      });

    it("keeps the questions that the checker confirms, and makes no request again for the same command", async () => {
      await serve({ write: (request, batch) => [written(request, batch)] });
      const first = await make(`--inbox ${MARCUS} -n 3 --unanswerable 0 -o model.jsonl --json`);
      expect(first).toMatchObject({ code: 0 });
      const result = JSON.parse(first.stdout);
      expect(result).toMatchObject({ questions: 3, checker: "anthropic/claude-haiku-4-5", shortfall: null });
      expect(result.calls).toBe(provider.requests.length);
      expect(result.costUsd).toBeGreaterThan(0);
      const [one] = provenance("model.provenance.jsonl");
      expect(one?.checks.map(({ check, passed }) => [check, passed])).toEqual([
        ["gold", true],
        ["sources", true],
        ["without_mail", true],
        ["other_mails", true],
      ]);
      const asked = provider.requests.length;
      const bytes = read("model.jsonl");
      const again = JSON.parse((await make(`--inbox ${MARCUS} -n 3 --unanswerable 0 -o model.jsonl --json`)).stdout);
      expect(again).toMatchObject({ calls: 0, costUsd: 0 });
      expect(provider.requests).toHaveLength(asked);
      expect(read("model.jsonl")).toBe(bytes);
    });

    it("rejects questions with wrong sources, quotations, numbers and kinds, and counts them by the reason", async () => {
      const faults: readonly (readonly [changes: Record<string, unknown>, reason: string])[] = [
        [{ message_ids: ["<none@nowhere>"] }, "it cites an email that was not shown"],
        [{ passages: [{ message_id: "", text: "no such words here" }] }, "its quotation is not in the email"],
        [{ answer: "It said 987654321" }, "no cited email contains the number 987654321 from the answer"],
        [{ kind: "why" }, "the model wrote an incomplete question"],
      ];
      await serve({ write: (request, batch) => faults.map(([changes]) => written(request, batch, changes)) });
      const { code, stderr } = await make(`--inbox ${MARCUS} -n 2 --unanswerable 0 -o refused.jsonl --seed 36`);
      expect(code).toBe(1);
      for (const [, reason] of faults) expect(stderr).toMatch(new RegExp(`(Rejected: |, )${reason} \\d+[.,]`));
    });

    it.each([
      [
        "its email does not answer",
        () => ({ found: false, answer: "", message_ids: [] }),
        "correct",
        "the cited emails do not answer it",
      ],
      ["its email answers differently", undefined, "wrong", "the cited emails give another answer"],
      [
        "the model can answer without mail",
        () => ({ found: true, answer: "of course", message_ids: [] }),
        "correct",
        "the answer is known without any email",
      ],
    ])("rejects a question if %s", async (_, check, verdict, reason) => {
      await serve({ write: (request, batch) => [written(request, batch)], ...(check && { check }), verdict });
      const { code, stderr } = await make(
        `--inbox ${MARCUS} -n 2 --unanswerable 0 -o refused.jsonl --cache-dir ${verdict}${reason.length}`,
      );
      expect(code).toBe(1);
      expect(stderr).toMatch(new RegExp(`Rejected: ${reason} \\d+[.,]`));
    });

    it("adds emails with the same answer to the gold sources, but not emails that only the checker names", async () => {
      await serve({
        write: (request, batch) => [written(request, batch)],
        check: (request) => {
          const shown = idsShown(request);
          return { found: shown.length > 0, answer: "what it said", message_ids: shown };
        },
      });
      expect(await make(`--inbox ${MARCUS} -n 1 --unanswerable 0 -o more.jsonl --cache-dir more`)).toMatchObject({
        code: 0,
      });
      const gold = made("more.jsonl")[0]?.message_ids ?? [];
      expect(gold.length).toBeGreaterThan(1);
      expect(gold.length).toBeLessThan(11);
    });

    it("replaces a rejected question with a similar one, and warns if the price is unknown", async () => {
      await serve({
        write: (request, batch) => [
          ...[1, 2, 3].map(() => written(request, batch, { answer: "It said 987654321" })),
          written(request, batch),
        ],
      });
      const line = `--inbox ${MARCUS} -n 1 --seed 3 --unanswerable 0 -o like.jsonl --cache-dir like --model openai/unheard-of`;
      const json = await artE(`questions make ${line} --base-url ${provider.url}/v1 --json`, {
        OPENAI_API_KEY: "test-key",
      });
      expect(json).toMatchObject({ code: 0, stderr: "" });
      const { refused, questions, calls, costUsd } = JSON.parse(json.stdout);
      expect({ questions, calls, costUsd }).toEqual({ questions: 1, calls: 5, costUsd: null });
      expect(Object.keys(refused)).toEqual(["no cited email contains the number 987654321 from the answer"]);
      const again = await artE(
        `questions make ${line} --base-url ${provider.url}/v1 --seed 2 --cache-dir like2 --overwrite`,
        {
          OPENAI_API_KEY: "test-key",
        },
      );
      expect(again.stdout).toMatch(/^Cost: +unknown: no price is known for the model for 5 calls/m);
    });

    it("limits the calls according to the requested number of questions", async () => {
      await serve({ write: (request, batch) => [0, 1, 2].map((i) => written(request, 3 * batch + i)) });
      const { stdout } = await make(`--inbox ${MARCUS} -n 1 --unanswerable 0 -o one.jsonl --cache-dir one --json`);
      expect(JSON.parse(stdout)).toMatchObject({ questions: 1, calls: 5 });
    });

    it("stops at --max-cost, writes the finished questions, and continues from there when called again", async () => {
      await serve({ write: (request, batch) => [written(request, batch)] });
      const line = `-n 12 --unanswerable 0 -o paid.jsonl --overwrite --json --cache-dir paid`;
      const short = JSON.parse((await make(`${line} --max-cost 0.085`)).stdout);
      expect(short.shortfall).toMatch(
        /^--max-cost 0\.085 is reached: \$0\.0\d+ has been spent, and the next call might cost/,
      );
      expect(short.costUsd).toBeLessThan(0.085);
      expect(short.questions).toBeGreaterThan(0);
      const { calls } = short;
      const whole = JSON.parse((await make(line)).stdout);
      // The first call's reply is in the cache because both requests were equal, so there is one reply.
      expect(whole.cachedReplies).toBe(calls + short.cachedReplies);
      expect(whole.calls + calls).toBe(provider.requests.length);
    });

    it("fails with the reason if every call must fail", async () => {
      provider = await startFakeProvider(() => ({ fail: "status", status: 401, message: "invalid x-api-key" }));
      const { code, stderr } = await make(`--inbox ${MARCUS} -n 2 -o none.jsonl --cache-dir none`);
      expect(code).toBe(1);
      expect(stderr).toContain("Cannot call the model: anthropic/claude-haiku-4-5: 401");
      expect(stderr).not.toContain("test-key");
    });

    it("stops after several replies that contain no questions, and leaves the existing dataset unchanged", async () => {
      await serve({ write: (request, batch) => [written(request, batch)] });
      await make(`-n 1 --unanswerable 0 -o before.jsonl --cache-dir before`);
      const before = read("before.jsonl");
      await provider.close();
      provider = await startFakeProvider(() => ({ content: "I would rather not." }));
      const { code, stderr } = await make(`-n 20 -o before.jsonl --overwrite --cache-dir refusal`);
      expect(code).toBe(1);
      expect(stderr).toContain(
        "claude-haiku-4-5 returned nothing usable 8 times in a row. Last reason: the model's reply contains no questions",
      );
      expect(stderr).toContain("Rejected: the model's reply contains no questions 8.");
      expect(provider.requests).toHaveLength(8);
      expect(read("before.jsonl")).toBe(before);
    });

    it("stops if the checker's replies cannot be read", async () => {
      await serve({ write: (request, batch) => [written(request, batch)], check: () => ({ found: "maybe" }) });
      const { code, stderr } = await make(`-n 9 --unanswerable 0 -o unread.jsonl --cache-dir unread`);
      expect(code).toBe(1);
      expect(stderr).toContain("8 times in a row. Last reason: the checker's reply could not be read");
    });

    it("requests the same dates again if a batch that failed before succeeds", async () => {
      let fails = true;
      await serve({
        write: (request) => {
          const number = Number.parseInt(firstMail(request).id.slice(1, 7), 10);
          return fails && number % 2 === 0 ? null : [written(request, number)];
        },
      });
      const line = `--inbox ${MARCUS} -n 50 --unanswerable 0 -o dates.jsonl --overwrite --json --cache-dir dates`;
      const first = JSON.parse((await make(line)).stdout);
      expect(first.refused["the model call failed"]).toBeGreaterThan(0);
      fails = false;
      const second = JSON.parse((await make(line)).stdout);
      expect(second.questions).toBeGreaterThan(first.questions);
      expect(second.cachedReplies).toBe(first.calls + first.cachedReplies);
    });
  });

  describe("art-e questions check", () => {
    it("lists the questions that the rules mark as doubtful", async () => {
      const question = (id: number, changes: object) => ({
        id,
        question: `What is number ${id} about, if anything?`,
        answer: "Merriwell",
        message_ids: ["<31893264.1075840732105.JavaMail.demo@kestrel>"],
        how_realistic: 1,
        inbox_address: MARCUS,
        query_date: "2002-12-31",
        ...changes,
      });
      const rows = [
        question(1, {}),
        question(2, { question: "Which one has no mail at all?", message_ids: ["<none@nowhere>"] }),
        question(3, { question: "Which sum was agreed upon there?", answer: "$123,456.78" }),
        question(4, { question: "Who wrote too early about it?", query_date: "1999-01-01" }),
        question(5, { question: "What is number 1 about, if anything?" }),
        question(6, { question: "Whose cited mails say nothing?", answer: "I don't know" }),
      ];
      write("doubtful.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
      const { stdout, code } = await artE("questions check --dataset doubtful.jsonl --json");
      expect(code).toBe(0);
      const doubts = JSON.parse(stdout).questions.map((one: { doubts: string[] }) => one.doubts.join());
      expect(doubts).toEqual([
        "",
        "email <none@nowhere> does not exist",
        "no cited email contains the number 123456.78 from the answer",
        "<31893264.1075840732105.JavaMail.demo@kestrel> is later than the question",
        "it is nearly the same as an earlier question",
        "it cites emails but abstains",
      ]);
    });

    it("stops if the checker fails every time, and shows the error", async () => {
      const provider = await startFakeProvider(() => ({ fail: "status", status: 400, message: "no such tool" }));
      const { code, stderr } = await artE(
        `questions check --dataset ${MAIL}/../questions.jsonl --checker anthropic/claude-haiku-4-5 --cache-dir failing`,
        { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url },
      ).finally(() => provider.close());
      expect(code).toBe(1);
      expect(stderr).toMatch(/claude-haiku-4-5 returned nothing usable 8 times in a row. Last reason: .*no such tool/);
      expect(stderr).not.toContain("MaxListeners");
      expect(provider.requests.length).toBeLessThan(73);
    });

    it("gives a reason for every doubtful demo question", async () => {
      const { stdout } = await artE(`questions check --dataset ${MAIL}/../questions.jsonl --json`);
      const { questions } = JSON.parse(stdout);
      expect(questions).toHaveLength(73);
      expect(questions.filter((one: { doubts: string[] }) => one.doubts.length > 0).length).toBeLessThan(15);
    });
  });
});

describe("a question that cites two emails", () => {
  /** Questions about several emails, and about changes in a later email, from a model over HTTP. */

  const { artE, read } = workFolder({ mail: MAIL });
  let provider: FakeProvider;
  afterEach(() => provider.close());

  interface Shown {
    readonly id: string;
    readonly date: string;
    readonly passage: string;
  }

  /** The emails of a prompt, the earliest first. */
  const shownIn = ({ question }: ParsedRequest): Shown[] =>
    [...question.matchAll(/^Message-ID: (\S+)\nDate: +(\S+)[\s\S]*?\n\n(.{10,60})/gm)]
      .map(([, id = "", date = "", passage = ""]) => ({ id, date, passage }))
      .sort((a, b) => a.date.localeCompare(b.date));

  /** `answers`: which of the two emails alone gives the gold answer. */
  async function make(kind: string, answers: { earlier: boolean; later: boolean }, cited = 2) {
    let pair: Shown[] = [];
    provider = await startFakeProvider((request) => {
      const [tool] = request.tools;
      const shown = shownIn(request);
      if (tool === "record_questions") {
        // Batches are requested in parallel, and only the first one returns a question.
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
    ["are both needed", { earlier: false, later: false }, "each_mail: all cited emails are needed"],
    ["both give the answer", { earlier: true, later: true }, "each_mail: each cited email is enough"],
  ])("enters the dataset if the emails %s", async (_, answers, reason) => {
    const { questions, checks } = await make("what", answers);
    expect(questions).toBe(1);
    expect(checks).toContain(reason);
  });

  it("stays out of the dataset if one of the emails is superfluous", async () => {
    const { questions, refused } = await make("what", { earlier: false, later: true });
    expect(questions).toBe(0);
    expect(refused).toContain("some cited emails are superfluous");
  });

  it("enters the dataset if it is about a change that the later email made", async () => {
    const { questions, checks } = await make("change", { earlier: false, later: true });
    expect(questions).toBe(1);
    expect(checks).toContain("earlier_mails: the latest email changed the answer");
  });

  it("stays out of the dataset if the earlier email already contains the change, or if no email is cited", async () => {
    expect((await make("change", { earlier: true, later: true })).refused).toContain(
      "the earlier emails already give the gold answer",
    );
    await provider.close();
    expect((await make("change", { earlier: false, later: true }, 1)).refused).toContain(
      "it asks about a change but cites only one email",
    );
  });
});

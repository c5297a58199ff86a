import { mkdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { boxLines, demoQuestion, MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";

describe("art-e search and show", () => {
  const { artE, path, write } = workFolder({ mail: MAIL });
  const PHRASE = "Merriwell base quantity";

  interface Hit {
    readonly message_id: string;
    readonly date: string;
  }

  async function hits(flags: string): Promise<Hit[]> {
    const { stdout } = await artE(`search ${MARCUS} ${PHRASE} ${flags} --json`);
    const found = JSON.parse(stdout);
    return Array.isArray(found) ? found : found.emails;
  }

  describe("art-e search", () => {
    it("shows emails as an agent would find them, and how to read one", async () => {
      const { code, stdout, stderr } = await artE(`search ${MARCUS} ${PHRASE} -l 2`);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const [first = "", second = "", last] = stdout.trimEnd().split("\n\n");
      for (const mail of [first, second]) {
        expect(mail).toMatch(/^<\S+@\S+> {2}\((all words|best match)\)\n {2}\d{4}-\d\d-\d\d {2}\S+@\S+ {2}.+\n {2}\S/);
      }
      expect(last).toMatch(/^2 of \d+ emails\. Read one with art-e show '<MESSAGE-ID>'\.$/);
    });

    it("shows the parts of each score with --explain", async () => {
      const asked = ["search", MARCUS, "What price did I give Alice in January?", "-l", "3", "--cutoff", "2001-01-15"];
      const [shown, json] = await Promise.all([artE([...asked, "--explain"]), artE([...asked, "--explain", "--json"])]);
      expect([shown.code, shown.stderr]).toEqual([0, ""]);
      expect(shown.stdout).toMatch(/^ {4}score \d+\.\d\d = words \d+\.\d\d x recency 1\.\d\d x month 1\.50$/m);
      expect(shown.stdout).toMatch(/^ {4}word +idf +occurrences +score$/m);
      const { emails } = JSON.parse(json.stdout);
      expect(emails).toHaveLength(3);
      for (const { score } of emails) {
        const words = score.words.reduce((sum: number, word: { score: number }) => sum + word.score, 0);
        const { recency, namedMonth } = score.raises;
        expect(score.score).toBeCloseTo(words * (1 + recency) * (1 + namedMonth), 6);
      }
      const { stdout } = await artE([...asked, "--json"]);
      expect(JSON.parse(stdout).emails.map((mail: Hit) => mail.message_id)).toEqual(
        emails.map((mail: Hit) => mail.message_id),
      );
    });

    it("names the words that occur in no email in any spelling, and the words used instead, with --explain", async ({
      expect,
    }) => {
      const asked = ["search", MARCUS, "Meriwell citygate confi", "-l", "1", "--explain"];
      const [shown, json] = await Promise.all([artE(asked), artE([...asked, "--json"])]);
      expect(shown.stdout.split("\n\n")[0]?.split("\n")).toEqual([
        "meriwell: not found; searched for merriwell (spelling) instead, in 27 emails",
        "confi: not found; searched for words starting with confi (prefix) instead, in 11 emails",
      ]);
      const { emails, corrections } = JSON.parse(json.stdout);
      expect(corrections[0]).toEqual({ word: "meriwell", taken: "merriwell", by: "spelling", mails: 27 });
      expect(emails[0].snippet).toMatch(/Merriwell/);
    });

    it("lists the newest emails of a mailbox without words, in either order, but explains no scores", async () => {
      const dates = async (flags: string) => {
        const { emails } = JSON.parse(
          (await artE(`search ${MARCUS} -l 50 --before 2001-03-01 ${flags} --json`)).stdout,
        );
        return (emails as Hit[]).map(({ date }) => date);
      };
      const newest = await dates("");
      expect(newest).toHaveLength(50);
      expect(newest).toEqual([...newest].sort().reverse());
      expect(newest[0]).toMatch(/^2001-02/);
      expect(await dates("--order newest")).toEqual(newest);
      const { code, stderr } = await artE(`search ${MARCUS} --explain`);
      expect([code, stderr]).toEqual([2, expect.stringContaining("--explain requires words to search for.")]);
    });

    it("does not say how emails match if there are no words", async ({ expect }) => {
      const heads = async (words: string) => {
        const { stdout } = await artE(`search ${MARCUS} ${words} -l 2`);
        return stdout.split("\n").filter((line) => line.startsWith("<"));
      };
      expect(await heads("")).toEqual([expect.stringMatching(/^<\S+>$/), expect.stringMatching(/^<\S+>$/)]);
      expect((await heads(PHRASE))[0]).toMatch(/^<\S+> {2}\(all words\)$/);
    });

    it("rejects --explain if the emails are sorted by date", async () => {
      const { code, stderr } = await artE(`search ${MARCUS} quantity --order newest --explain`);
      expect([code, stderr]).toEqual([2, expect.stringContaining("--explain cannot be combined with --order newest")]);
    });

    it("searches for all words, and uses the last value of a repeated flag", async () => {
      const totalOf = async (words: string) =>
        JSON.parse((await artE(`search ${MARCUS} ${words} --json -l 1 -l 2`)).stdout);
      const [all, last] = await Promise.all([totalOf(PHRASE), totalOf("quantity")]);
      expect(all.total).toBeGreaterThan(0);
      expect(all.total).toBeLessThan(last.total);
      expect(all.emails).toHaveLength(2);
    });

    it("treats everything after -- as words, even if it looks like a flag", async () => {
      const found = async (words: string[]) => JSON.parse((await artE(["search", MARCUS, "--json", ...words])).stdout);
      expect(await found(["--", "-40", "quantity"])).toEqual(await found(["quantity", "40"]));
      expect(await found(["quantity", "--", "--limit"])).toEqual(await found(["quantity", "limit"]));
      const { code, stderr } = await artE(["agents", "list", "--", "--nonsense"]);
      expect([code, stderr]).toEqual([2, expect.stringContaining("agents list does not take --nonsense")]);
    });

    it("accepts quotes, operators and numbers among the words", async () => {
      const { code, stdout } = await artE(["search", MARCUS, "what's", 'AND "Q3', "*", "9,200", "--json"]);
      expect(code).toBe(0);
      expect(JSON.parse(stdout).total).toBeGreaterThan(0);
    });

    it("searches like ART with --order newest for all words, newest emails first", async () => {
      const { code, stdout } = await artE(`search ${MARCUS} base quantity --order newest --json`);
      expect(code).toBe(0);
      const found: Hit[] = JSON.parse(stdout);
      expect(found.length).toBeGreaterThan(1);
      expect(Object.keys(found[0] ?? {})).toEqual(["message_id", "snippet"]);
    });

    it("hides emails sent after --cutoff or before --after", async ({ expect }) => {
      const all = await hits("-l 50");
      const early = await hits("-l 50 --cutoff 2000-12-31 --after 2000-05-02");
      expect(all.some((mail) => mail.date > "2001")).toBe(true);
      expect(early.length).toBeGreaterThan(0);
      expect(early.filter((mail) => mail.date < "2000-05-02" || mail.date > "2001")).toEqual([]);
    });

    it("filters by sender with --from, by recipient with --to, and by date with --before", async () => {
      const sender = "amontero@merriwellgas.example";
      const sent = await hits(`--from ${sender} -l 50`);
      const received = await hits(`--to ${sender} -l 50 --before 2001-01-01`);
      expect(received.filter((mail) => mail.date > "2001")).toEqual([]);
      expect(sent.length).toBeGreaterThan(0);
      expect(received.length).toBeGreaterThan(0);
      const ids = new Set(sent.map((mail) => mail.message_id));
      expect(received.filter((mail) => ids.has(mail.message_id))).toEqual([]);
    });
  });

  describe("art-e show", () => {
    it("prints an email if given its Message-ID", async () => {
      const [id = ""] = demoQuestion(3).message_ids;
      const { code, stdout, stderr } = await artE(["show", id]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^Message-ID: <.+>\nDate: {7}\d{4}-.+Z\nFrom: {7}\S+@\S+\nTo: {9}\S+@\S+.*\n/);
      const { stdout: json } = await artE(["show", id, "--json"]);
      const mail = JSON.parse(json);
      expect(mail).toMatchObject({ sender: expect.stringContaining("@"), to: [expect.stringContaining("@")] });
      expect(mail).not.toHaveProperty("mailId");
      const [, text = ""] = stdout.split(/\n\n(.*)/s);
      expect(text.replace(/\n\nThread of \d+ emails:\n.*$/s, "").trimEnd()).toBe(mail.body.trimEnd());
    });

    it("lists the thread of an email", async () => {
      const { stdout } = await artE(["show", "<14965807.1075840220174.JavaMail.demo@kestrel>"]);
      expect(stdout.slice(stdout.indexOf("Thread of"))).toBe(`Thread of 3 emails:
  2001-12-03 15:40  ruth.whitlock@kestrelplains.example  Your group
    <14162357.1075840734198.JavaMail.demo@kestrel>
* 2001-12-03 16:12  marcus.hale@kestrelplains.example  RE: Your group
  2001-12-03 17:30  ruth.whitlock@kestrelplains.example  RE: Your group
    <19927535.1075840733376.JavaMail.demo@kestrel>
`);
      const [first = ""] = demoQuestion(3).message_ids;
      const mail = JSON.parse((await artE(["show", first, "--json"])).stdout);
      const { date, sender, subject } = mail;
      expect(mail.thread).toContainEqual({ messageId: expect.stringMatching(/^<.+>$/), date, sender, subject });
    });

    it("prints a trace with its question, its messages and tool calls, and its answer next to the gold answer", async ({
      expect,
    }) => {
      await artE(`run -a baseline --dataset ${QUESTIONS} --ids 3 --quiet`);
      const { code, stdout } = await artE("show latest/3");
      expect(code).toBe(0);
      const heads = stdout.split("\n").filter((line) => /^(\[|Question:|Ending:|Gold:|Scores:)/.test(line));
      expect(heads).toEqual([
        `Question: ${demoQuestion(3).question}`,
        "[system]",
        "[user]",
        "[assistant]",
        "[email_search]",
        "[assistant]",
        "[email_get]",
        "[email_get]",
        "[email_get]",
        "[assistant]",
        "[return_final_answer]",
        expect.stringMatching(/^Ending: {3}answered after 3 turns, /),
        `Gold:     ${demoQuestion(3).answer}`,
        expect.stringMatching(/^Scores: {3}exactMatch 0\.000, semanticScore \d\.\d{3}, /),
      ]);
    });
  });

  describe("an email with control characters and bidi marks", () => {
    const NASTY = "\u001b[2J zebra \u0007bell \u009b31m \u202eevil\u202c \u200fmark \u2066isolate";
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain them.
    const RAW = /[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Bidi_Control}]/u;
    const OWNER = "jo.doe@example.com";
    const id = "<1.zebra@example.com>";

    beforeAll(async () => {
      mkdirSync(path("nasty/doe-j/sent"), { recursive: true });
      const headers = [
        `Message-ID: ${id}`,
        "Date: Mon, 14 May 2001 16:39:00 +0000",
        `From: ${OWNER}`,
        "To: kim@example.com",
        "Content-Type: text/plain; charset=utf-8",
      ];
      write("nasty/doe-j/sent/1.", [...headers, `Subject: subject ${NASTY}`, "", `body ${NASTY}`, ""].join("\r\n"));
      const { code, stderr } = await artE("import nasty --db nasty.db --quiet");
      if (code !== 0) throw new Error(stderr);
    });

    it.each([
      ["search", ["search", OWNER, "zebra"]],
      ["show", ["show", id]],
    ])("appears without them in %s in the terminal", async (_, words) => {
      const { code, stdout } = await artE([...words, "--db", "nasty.db"]);
      expect(code).toBe(0);
      expect(stdout).toContain("␛[2J zebra ␇bell");
      expect(stdout).not.toMatch(RAW);
    });

    it("appears without them in the trace of an agent that read it", async () => {
      const question = { ...demoQuestion(1), question: "What of the zebra?", inbox_address: OWNER, message_ids: [id] };
      write("nasty.jsonl", JSON.stringify({ ...question, query_date: "2001-06-01" }));
      await artE("run -a baseline --dataset nasty.jsonl --db nasty.db --quiet");
      const { code, stdout } = await artE("show latest/1 --db nasty.db");
      expect(code).toBe(0);
      expect(stdout).toContain("zebra");
      expect(stdout).not.toMatch(RAW);
    });
  });
});

describe("art-e eval-search", () => {
  const { artE, write } = workFolder({ mail: MAIL });
  const EVAL = `eval-search --dataset ${QUESTIONS}`;

  it("measures the search on all questions of the dataset, and prints a box", async () => {
    const { code, stdout, stderr } = await artE(EVAL);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(Object.keys(boxLines(stdout))).toEqual([
      "Questions",
      "Hit@1",
      "Hit@5",
      "Hit@10",
      "MRR@10",
      "Latency p50 / p95 / p99",
      "Not among the first ten",
    ]);
    expect(boxLines(stdout)).toMatchObject({
      Questions: "73",
      "Hit@10": "1.000 [0.950, 1.000] n=73",
      "Not among the first ten": "none",
    });
  });

  it("writes one document about the selected questions if --json is given", async () => {
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

  it("names the questions whose email was not found", async () => {
    const hopeless = { id: 8, question: "zzyzx?", answer: "", message_ids: ["<none@example.com>"], how_realistic: 1 };
    write(
      "no.jsonl",
      JSON.stringify({ ...hopeless, inbox_address: "ruth.whitlock@kestrelplains.example", query_date: "2001-01-01" }),
    );
    const { code, stdout } = await artE("eval-search --dataset no.jsonl");
    expect(code).toBe(0);
    expect(boxLines(stdout)).toMatchObject({ "Hit@10": "0.000 [0.000, 0.793] n=1", "Not among the first ten": "8" });
  });
});

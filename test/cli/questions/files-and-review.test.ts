import { createInterface } from "node:readline";
import { beforeAll, describe, expect, it } from "vitest";
import { loadQuestionFile } from "../../../src/questions/dataset/dataset-files.js";
import { type Question, questionSchema } from "../../../src/tasks/question.js";
import { encodeTable, questionsTable, TABLE_FORMATS } from "../../../src/trace-formats/tables.js";
import { demoQuestions, jsonLines, MAIL, MARCUS, workFolder } from "../art-e.js";

describe("files of questions", () => {
  /** Datasets in each readable format, and estimates for making questions. */

  const { artE, path, read, write } = workFolder({ mail: MAIL });
  const never = new AbortController().signal;
  const load = async (name: string) => (await loadQuestionFile(path(name), "test", never)).questions;

  describe("art-e questions make", () => {
    beforeAll(async () => {
      expect(await artE("questions make -n 12 -o my.jsonl --quiet")).toMatchObject({ code: 0 });
    });

    it.each(["csv", "parquet"])(
      "writes the same questions as .%s, and a second file that records how each one was made",
      async (format) => {
        expect(await artE(`questions make -n 12 -o as-${format}.${format} --quiet`)).toMatchObject({ code: 0 });
        expect(await load(`as-${format}.${format}`)).toEqual(await load("my.jsonl"));
        expect(read(`as-${format}.provenance.jsonl`)).toBe(read("my.provenance.jsonl"));
        // A command replaces its own file, but not another command's.
        expect(await artE(`questions make -n 12 -o as-${format}.${format}`)).toMatchObject({ code: 0 });
        write(`other.${format}`, "PAR1,name\n1,x\n");
        expect(await artE(`questions make -n 12 -o other.${format}`)).toMatchObject({ code: 2 });
      },
    );

    it("leaves strings unchanged that a spreadsheet would change", async () => {
      const hard: readonly Question[] = [
        "+1 713 555-0142",
        "=1+1",
        "'=x",
        "''@y",
        "-5%",
        'a "b",\r\nc',
        "'tis",
        "שלום 😀",
      ].map((answer, i) => ({
        id: i + 1,
        question: `${answer}?`,
        answer,
        message_ids: i === 0 ? [] : [`<${i}@x>`, "odd id, with; separators"],
        how_realistic: 0.3,
        inbox_address: MARCUS,
        query_date: "2001-05-04",
        split: "test",
      }));
      for (const format of TABLE_FORMATS) {
        const pieces = [...(await encodeTable(format, questionsTable(format), hard))].map((piece) =>
          Buffer.from(piece),
        );
        write(`hard.${format}`, Buffer.concat(pieces));
        expect(await load(`hard.${format}`), format).toEqual(hard);
      }
    });
  });

  describe("art-e questions make --dry-run", () => {
    const line = `questions make --inbox ${MARCUS} -n 12 -o none.jsonl --dry-run`;

    it("estimates calls, tokens and cost even if there is no key, and makes no call", async () => {
      const { code, stdout } = await artE(
        `${line} --model anthropic/claude-haiku-4-5 --checker openai/gpt-6-luna --json`,
      );
      expect(code).toBe(0);
      const { writer, checker, batches, mails, costUsd } = JSON.parse(stdout);
      expect(batches.needed).toBe(Math.min(8, batches.available));
      expect(writer).toMatchObject({ model: "anthropic/claude-haiku-4-5", calls: batches.needed });
      expect(checker).toMatchObject({ model: "openai/gpt-6-luna", calls: batches.needed * 3 * 4 });
      expect(writer.usage.inputTokens).toBeGreaterThan(batches.needed * 1_000);
      expect(costUsd).toBeCloseTo(writer.costUsd + checker.costUsd, 10);
      expect(mails.usable).toBeGreaterThan(0);
      expect(() => read("none.jsonl")).toThrow();
    });

    it("names the free parts, and the parts whose price is unknown", async () => {
      expect((await artE(line)).stdout).toMatch(
        /Written by: +offline\/patterns, without a call\nChecked by: +rules alone\nCost: +about \$0\.00/,
      );
      expect((await artE(`${line} --model openai/unheard-of --checker off`)).stdout).toMatch(/Cost: +unknown/);
    });
  });

  describe("art-e questions check", () => {
    it("accepts the file as an argument or with --dataset, but not both", async () => {
      write("two.jsonl", read("my.jsonl"));
      const [named, flagged] = [
        await artE("questions check two.jsonl --json"),
        await artE("questions check --dataset two.jsonl --json"),
      ];
      expect(named).toMatchObject({ code: 0, stdout: flagged.stdout });
      expect(jsonLines(named.stdout.replace(/\n(?=.)/g, ""))).toHaveLength(1);
      expect(await artE("questions check two.jsonl --dataset two.jsonl")).toMatchObject({ code: 2 });
    });
  });
});

describe("art-e questions review", () => {
  /** Serves the review page over HTTP. The page itself is tested in a browser. */

  const { artE, read, start, write } = workFolder({ mail: MAIL });

  it("serves a dataset in any format on this machine, and finishes with the decisions", async () => {
    write("my.json", JSON.stringify(demoQuestions.slice(0, 3)));
    const { child, ended } = start("questions review my.json --no-open");
    let url = "";
    for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
      url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? "";
      if (url !== "") break;
    }
    const post = (id: number, body: object) =>
      fetch(`${url}/api/review/questions/${id}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const [first, second] = demoQuestions;
    expect((await post(first?.id ?? 0, { decision: "accepted", seen: null })).status).toBe(200);
    const edited = { question: "Which one?", answer: "This one" };
    expect((await post(second?.id ?? 0, { decision: "edited", edited, seen: null })).status).toBe(200);
    expect((await post(second?.id ?? 0, { decision: "rejected", seen: null })).status).toBe(409);
    expect((await post(second?.id ?? 0, { decision: "accepted", edited, seen: null })).status).toBe(400);
    expect((await post(999_999, { decision: "accepted", seen: null })).status).toBe(404);
    child.kill("SIGINT");
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(stdout).toContain("art-e run --agent baseline --dataset my.reviewed.jsonl --limit 0");
    expect(stdout).toMatch(/To decide: +1\nSame as the checks: +0\.500 \[/);
    const kept = [first, { ...second, ...edited }].map((question) => questionSchema.parse(question));
    expect(jsonLines(read("my.reviewed.jsonl"))).toEqual(kept);
    expect(await artE("run -a baseline --dataset my.reviewed.jsonl -l 0 --quiet")).toMatchObject({ code: 0 });
  });

  it.each([
    ["a missing file", "none.jsonl", /no such file/],
    ["unreadable decisions", "broken.jsonl", /Cannot read broken\.review\.jsonl: line 1: id:/],
    ["a reviewed file that belongs to another dataset", "taken.jsonl", /taken\.reviewed\.jsonl exists/],
  ])("rejects %s", async (_, file, message) => {
    for (const name of ["broken.jsonl", "taken.jsonl"]) write(name, JSON.stringify(demoQuestions[0]));
    write("broken.review.jsonl", '{"decision":"accepted"}\n');
    write("taken.reviewed.jsonl", "mine\n");
    const { code, stderr } = await artE(`questions review ${file} --no-open`);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(read("taken.reviewed.jsonl")).toBe("mine\n");
  });
});

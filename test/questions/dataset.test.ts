import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadQuestionFile, splitMessageIds } from "../../src/questions/dataset/dataset-files.js";
import { loadQuestions, type QuestionRequest } from "../../src/questions/dataset/download-questions.js";
import {
  KNOWN_BAD_IDS,
  questionStatistics,
  type SelectionOptions,
  selectQuestions,
  shuffled,
} from "../../src/questions/dataset.js";
import type { Question, Split } from "../../src/tasks/question.js";
import { ENRON, needs } from "../machine-requirements.js";
import { never } from "../platform/hub-server.js";
import { parquetOf, questionRows, type Row } from "./question-rows.js";

describe("questionStatistics", () => {
  it("returns null averages and dates, never NaN, if there are no questions", () => {
    const statistics = questionStatistics({ split: "test", questions: [] });
    expect(statistics).toMatchObject({
      totalTasks: 0,
      uniqueInboxes: 0,
      averageRealism: null,
      averageMessageIds: null,
      firstDate: null,
      lastDate: null,
    });
    expect(statistics.realismHistogram.every((bin) => bin.count === 0)).toBe(true);
  });

  it("returns counts, averages, and the first and last day", () => {
    const questions = questionRows(4).map((row, i) => ({
      ...row,
      how_realistic: [0.3, 0.7, 0.75, 1][i] ?? 0,
      message_ids: row.message_ids.slice(0, i % 3),
      query_date: ["2001-05-14", "1999-12-31", "2002-01-01", "2001-05-14"][i] ?? "",
    }));
    expect(questionStatistics({ split: "train", questions })).toEqual({
      split: "train",
      totalTasks: 4,
      uniqueInboxes: 2,
      averageRealism: 0.6875,
      averageMessageIds: 0.75,
      firstDate: "1999-12-31",
      lastDate: "2002-01-01",
      realismHistogram: [0, 0, 0, 1, 0, 0, 0, 2, 0, 1].map((count, i) => ({ from: i / 10, to: (i + 1) / 10, count })),
    });
  });

  it("puts every bound into the bin that starts with it, and 1 into the last bin", () => {
    const bounds = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
    const questions = bounds.map((how_realistic, i) => ({ ...questionRows(1, i)[0], how_realistic }) as never);
    const { realismHistogram } = questionStatistics({ split: "test", questions });
    expect(realismHistogram.map((bin) => bin.count)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
  });
});

const QUESTIONS: Question[] = questionRows(60).map((row, i) => ({
  ...row,
  how_realistic: (i % 8) / 10 + 0.3,
  message_ids: row.message_ids.slice(0, i % 3),
}));

const ids = (questions: readonly Question[]) => questions.map((question) => question.id);

const chosen = (options: Partial<SelectionOptions>) =>
  selectQuestions(QUESTIONS, { excludeKnownBad: false, shuffle: false, limit: 0, ...options });

describe("selectQuestions", () => {
  it("rejects unknown ids, and lists each once", () => {
    expect(() => chosen({ ids: [3, 99, 61, 99] })).toThrow("Unknown question ids: 99, 61.");
  });

  it("selects the first questions, or all if the limit is 0", () => {
    expect(ids(chosen({ limit: 3 }))).toEqual([1, 2, 3]);
    expect(chosen({})).toEqual(QUESTIONS);
    expect(chosen({ limit: 1000 })).toEqual(QUESTIONS);
  });

  it("keeps the dataset order for ids in any order", () => {
    expect(ids(chosen({ ids: [30, 2, 7, 2] }))).toEqual([2, 7, 30]);
  });

  it("filters by each of its conditions, including the bounds", () => {
    const realistic = chosen({ minRealism: 0.9 });
    expect(realistic.length).toBeGreaterThan(0);
    expect(realistic).toEqual(QUESTIONS.filter((question) => question.how_realistic >= 0.9));
    expect(ids(chosen({ maxSources: 1, limit: 4 }))).toEqual([1, 2, 4, 5]);
    const ofLee = chosen({ inbox: " Lee.Roe@example.com " });
    expect(ids(ofLee)).toEqual(ids(QUESTIONS).filter((id) => id % 2 === 0));
    expect(chosen({ inbox: "nobody@example.com" })).toEqual([]);
  });

  it("omits known bad questions on request", () => {
    expect([...KNOWN_BAD_IDS].sort((a, b) => a - b)).toEqual([49, 101, 129, 171, 208, 266, 327]);
    expect(ids(chosen({}))).toContain(49);
    expect(ids(chosen({ excludeKnownBad: true }))).not.toContain(49);
  });

  it("filters before it applies the limit", () => {
    expect(ids(chosen({ inbox: "lee.roe@example.com", limit: 2 }))).toEqual([2, 4]);
  });

  it("selects a prefix of a larger selection if the limit is smaller", () => {
    const all = chosen({ shuffle: true, seed: 7 });
    expect(chosen({ shuffle: true, seed: 7, limit: 5 })).toEqual(all.slice(0, 5));
    expect(ids(all)).not.toEqual(ids(QUESTIONS));
  });

  it("shuffles on request, even if the seed is 0", () => {
    expect(chosen({ seed: 5 })).toEqual(QUESTIONS);
    expect(chosen({ shuffle: true, seed: 0 })).not.toEqual(QUESTIONS);
    expect(chosen({ shuffle: true })).toEqual(shuffled(QUESTIONS, 1));
  });

  it("does not change its input", () => {
    const before = ids(QUESTIONS);
    chosen({ shuffle: true, seed: 3 });
    expect(ids(QUESTIONS)).toEqual(before);
  });
});

describe("shuffled", () => {
  it("returns the same order on every machine and in every version", () => {
    expect(shuffled([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 42)).toEqual([0, 7, 3, 5, 2, 1, 8, 9, 4, 6]);
  });

  it("keeps all items, for any seed", () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer(), (items, seed) => {
        const result = shuffled(items, seed);
        expect(result.toSorted((a, b) => a - b)).toEqual(items.toSorted((a, b) => a - b));
        expect(shuffled(items, seed)).toEqual(result);
      }),
    );
  });

  it("moves every item to every position about equally often", () => {
    const counts = Array.from({ length: 4 }, () => [0, 0, 0, 0]);
    for (let seed = 0; seed < 4000; seed++) {
      shuffled([0, 1, 2, 3], seed).forEach((item, place) => {
        const row = counts[item] ?? [];
        row[place] = (row[place] ?? 0) + 1;
      });
    }
    // 1000 expected, standard deviation 27.
    for (const count of counts.flat()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });
});

describe("loadQuestionFile", () => {
  /**
   * Forty authored rows. The zstd command (level 19) compressed the pages, because no library on Node 20
   * writes zstd: `parquetOf(questionRows(40), {codec: "ZSTD", compressors: {ZSTD: <zstd -19 -c --no-check>}})`.
   */
  const ZSTD_FILE = fileURLToPath(new URL("zstd.parquet", import.meta.url));
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "questions-"));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  function load(dataset: string, split: Split = "test") {
    const request: QuestionRequest = {
      split,
      dataset,
      useJson: false,
      // No server listens there, because a local file needs no network access.
      hub: { endpoint: "http://127.0.0.1:1", token: null, revision: "main" },
      cacheDir: join(folder, "cache"),
    };
    return loadQuestions(request, never);
  }

  async function file(name: string, content: string | Uint8Array): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, content);
    return path;
  }

  const jsonl = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;

  function csvOf(rows: readonly Row[], ids: (row: Row) => string = (row) => JSON.stringify(row.message_ids)): string {
    const lines = rows.map((row) =>
      [
        row.id,
        cell(row.question),
        cell(row.answer),
        cell(ids(row)),
        row.how_realistic,
        row.inbox_address,
        row.query_date,
      ].join(","),
    );
    return `id,question,answer,message_ids,how_realistic,inbox_address,query_date\r\n${lines.join("\r\n")}\r\n`;
  }

  describe("with an unusable dataset", () => {
    it("reports a missing file", async () => {
      const path = join(folder, "none.csv");
      await expect(load(path)).rejects.toMatchObject({
        code: "questions_unreadable",
        message: `Cannot read questions from ${path}: no such file`,
      });
    });

    it("reports a folder", async () => {
      await mkdir(join(folder, "data"));
      await expect(load(join(folder, "data"))).rejects.toMatchObject({
        message: expect.stringContaining("it is a folder"),
      });
    });

    const row = (changes: object) => JSON.stringify([{ ...questionRows(1)[0], ...changes }]);
    const HEADER = "id,question,answer,message_ids,how_realistic,inbox_address,query_date";
    const csvRow = (id: string, ids: string) => `${HEADER}\n${id},Q?,A,${ids},0.5,kim@example.com,2001-05-01\n`;

    it.each<[string, string, string | Uint8Array]>([
      ["notes.txt", "neither Parquet, CSV, JSON nor JSONL", "Dear Kim,\nsee you.\n"],
      ["empty.jsonl", "it is empty", "\n\n"],
      ["x.parquet", "Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"],
      ["x.parquet", "not a Parquet file", "<html></html>"],
      ["x.bin", "neither Parquet nor UTF-8 text", new Uint8Array([0xff, 0xfe, 0x00, 0x80])],
      ["x.json", "field", '{"questions": 3}\n '],
      ["x.json", "expected a JSON array of questions or {rows: [...]}", '{\n  "version": 3\n}'],
      ["x.json", "Expected", "[1, 2"],
      ["x.csv", "Quote Not Closed", 'id,question\n1,"open'],
      ["x.csv", "Invalid Record Length", "id,question\n1,a,b,c"],
      ["x.jsonl", "line 2 is not JSON", `${JSON.stringify(questionRows(1)[0])}\n{"id": 2,\n`],
      ["x.json", 'row 1, field "answer" is missing', row({ answer: undefined })],
      ["x.json", 'row 1, field "message_ids.0": Invalid input', row({ message_ids: [1] })],
      ["x.json", 'row 1, field "how_realistic": Too big', row({ how_realistic: 7 })],
      ["x.json", 'row 1, field "id"', row({ id: 1.5 })],
      ["x.json", 'row 1, field "split"', row({ split: "validation" })],
      ["x.json", "row 1", "[[1, 2]]"],
      ["x.csv", 'field "id" is missing', csvRow(" ", "[]")],
      ["x.csv", 'field "id": Invalid input', csvRow("seven", "[]")],
      ["x.csv", 'field "message_ids": Invalid input', csvRow("1", "see <a@x> and others")],
      // Too large for a number.
      [
        "x.parquet",
        'row 1, field "id"',
        parquetOf([{ ...questionRows(1)[0], id: 2 ** 60 } as Row], { idType: "INT64" }),
      ],
    ])("reports an unreadable %s (%s)", async (name, reason, content) => {
      await expect(load(await file(name, content))).rejects.toMatchObject({
        name: "UserError",
        message: expect.stringContaining(reason),
      });
    });

    it("reports a truncated Parquet file", async () => {
      const whole = parquetOf(questionRows(20));
      const path = await file("test.parquet", whole.subarray(0, whole.length - 50));
      await expect(load(path)).rejects.toMatchObject({ code: "questions_unreadable" });
    });

    it("reports damaged metadata of a Parquet file in its own words", async () => {
      const path = await file("short.parquet", "PAR1");
      await expect(load(path)).rejects.toMatchObject({
        message: `Cannot read questions from ${path}: its metadata is damaged`,
      });
    });

    it.each([
      ["x.json", "[]"],
      ["x.json", '{"rows": [], "num_rows_total": 0}'],
      ["x.csv", `${HEADER}\n`],
      ["x.parquet", parquetOf([])],
    ])("reports a %s without rows", async (name, content) => {
      const path = await file(name, content);
      await expect(load(path)).rejects.toMatchObject({
        code: "questions_empty",
        message: `${path} does not contain questions`,
      });
    });

    it("reports invalid rows, with the first one's field and their number", async () => {
      const rows: unknown[] = questionRows(6);
      rows[2] = { ...questionRows(3)[2], query_date: "14 May 2001" };
      rows[4] = { ...questionRows(5)[4], message_ids: [3] };
      const path = await file("x.jsonl", jsonl(rows));
      await expect(load(path)).rejects.toMatchObject({
        code: "question_rows_bad",
        message: `${path}: line 3, field "query_date": expected a date (YYYY-MM-DD), optionally with a time and its zone (2 of 6 rows are invalid)`,
      });
    });

    it.each<[string, object, string]>([
      ["an unknown kind", { kind: "urgent" }, 'field "select.kind": Invalid option'],
      ["text instead of a list", { emails: "<a@x>" }, 'field "select.emails": Invalid input'],
      ["an email without evidence", { emails: [{ message_ids: ["<a@x>"] }] }, 'field "select.emails.0.evidence": '],
      [
        "evidence that is a right email",
        { emails: [{ message_ids: ["<a@x>"], evidence: ["<a@x>"] }] },
        'field "select.emails": <a@x> cannot be both a right email and later evidence',
      ],
      ["a window that begins later", { from: "2099-01-01" }, 'field "select.from": is after the date of the task'],
    ])("emails to select with %s", async (_, fields, reason) => {
      const select = { kind: "needs-reply", from: "1999-01-01", reply_days: 7, emails: [], ...fields };
      const [row, ...others] = questionRows(3);
      for (const cell of [select, JSON.stringify(select)]) {
        const path = await file("x.jsonl", jsonl([...others, { ...row, select: cell }]));
        await expect(load(path)).rejects.toMatchObject({
          code: "question_rows_bad",
          message: expect.stringContaining(`${path}: line 3, ${reason}`),
        });
      }
    });

    it.each([
      "2001-02-31",
      "2001-13-01",
      "2001-00-10",
      "1900-02-29",
      "2001-02-30T10:00:00Z",
      "2001-02-311",
      "2001-04-06T25:00:00Z",
      "2001-04-06 soon",
      "2001-04-06T10:00+99:00",
    ])("reports the impossible date %s", async (query_date) => {
      const path = await file("x.jsonl", jsonl([{ ...questionRows(1)[0], query_date }]));
      await expect(load(path)).rejects.toMatchObject({
        code: "question_rows_bad",
        message: expect.stringContaining('line 1, field "query_date": '),
      });
    });

    it("stops reading after a hundred invalid rows", async () => {
      const path = await file("x.json", JSON.stringify(Array(50_000).fill({})));
      await expect(load(path)).rejects.toMatchObject({
        code: "question_rows_bad",
        message: `${path}: row 1, field "id" is missing (at least 100 of 50000 rows are invalid)`,
      });
    });

    it("throws the signal's reason if aborted", async () => {
      const path = await file("x.jsonl", jsonl(questionRows(10_000)));
      const abort = new AbortController();
      const loading = loadQuestionFile(path, "test", abort.signal);
      abort.abort(new Error("Ctrl-C"));
      await expect(loading).rejects.toThrow("Ctrl-C");
    });

    it("lists duplicate ids", async () => {
      const path = await file("x.jsonl", jsonl([...questionRows(5), ...questionRows(2, 3)]));
      await expect(load(path)).rejects.toMatchObject({
        code: "question_ids_repeated",
        message: `${path}: duplicate ids 3, 4`,
      });
    });
  });

  describe("with a supported format", () => {
    const rows = questionRows(3);
    const expected = rows.map((row) => ({ ...row, split: "test" }));

    it.each([
      ["x.parquet", parquetOf(rows)],
      ["int64.parquet", parquetOf(rows, { idType: "INT64" })],
      [
        "gzip.parquet",
        parquetOf(rows, { codec: "GZIP", compressors: { GZIP: (bytes: Uint8Array) => gzipSync(bytes) } }),
      ],
      [
        "brotli.parquet",
        parquetOf(rows, { codec: "BROTLI", compressors: { BROTLI: (bytes: Uint8Array) => brotliCompressSync(bytes) } }),
      ],
      ["plain.parquet", parquetOf(rows, { codec: "UNCOMPRESSED" })],
      ["parquet named.csv", parquetOf(rows)],
      ["x.csv", csvOf(rows)],
      ["bom.csv", `\uFEFF${csvOf(rows)}`],
      ["no-extension", csvOf(rows)],
      ["python.csv", csvOf(rows, (row) => `['${row.message_ids.join("', '")}']`)],
      ["numpy.csv", csvOf(rows, (row) => `['${row.message_ids.join("'\n '")}']`)],
      ["commas.csv", csvOf(rows, (row) => row.message_ids.join(", "))],
      ["x.json", JSON.stringify(rows)],
      ["pretty.json", JSON.stringify(rows, null, 2)],
      ["rows-api.json", JSON.stringify({ rows: rows.map((row, row_idx) => ({ row_idx, row })), num_rows_total: 3 })],
      ["rows-pretty.json", JSON.stringify({ rows }, null, 2)],
      ["x.jsonl", jsonl(rows)],
      ["crlf.jsonl", jsonl(rows).replaceAll("\n", "\r\n")],
      ["lines named.json", jsonl(rows)],
    ])("reads the rows of %s", async (name, content) => {
      const set = await load(await file(name, content));
      expect(set.questions).toEqual(expected);
      expect(set).toMatchObject({ source: join(folder, name), revision: null, split: "test" });
    });

    it("reads a single JSON line as one row", async () => {
      const set = await load(await file("one.jsonl", jsonl(rows.slice(0, 1))));
      expect(set.questions).toHaveLength(1);
    });

    it("reads zstd pages", async () => {
      const set = await load(ZSTD_FILE);
      expect(set.questions).toEqual(questionRows(40).map((row) => ({ ...row, split: "test" })));
    });

    it("restores a realism stored as float32", async () => {
      const some = [0.3, 0.55, 0.7, 0.95, 1].map((how_realistic, i) => ({ ...questionRows(1, i)[0], how_realistic }));
      const set = await load(await file("x.parquet", parquetOf(some as Row[])));
      expect(set.questions.map((question) => question.how_realistic)).toEqual([0.3, 0.55, 0.7, 0.95, 1]);
    });

    it("returns the SHA-256 of the file", async () => {
      const content = jsonl(rows);
      const set = await load(await file("x.jsonl", content));
      expect(set.sha256).toBe(createHash("sha256").update(content).digest("hex"));
    });

    it("accepts an empty list of gold emails in every notation", async () => {
      const none = { ...rows[0], message_ids: [] };
      const blank = { ...rows[1], message_ids: [""] };
      const fromJson = await load(await file("x.jsonl", jsonl([none, blank])));
      const fromCsv = await load(
        await file(
          "x.csv",
          csvOf(rows.slice(0, 2), (row) => (row.id === 1 ? "" : "[]")),
        ),
      );
      for (const set of [fromJson, fromCsv]) {
        expect(set.questions.map((question) => question.message_ids)).toEqual([[], []]);
      }
    });

    it.each([
      ["2001-04-06", "2001-04-06"],
      ["2001-04-06T00:00:00Z", "2001-04-06"],
      ["2001-04-06 23:59:59.999", "2001-04-06"],
      ["2001-04-06T23:30:00-05:00", "2001-04-07"],
      ["2001-04-06T23:30:00.123456-0500", "2001-04-07"],
      ["2001-04-06 00:30+01", "2001-04-05"],
      ["2000-12-31T20:00:00-06:00", "2001-01-01"],
      ["2001-04-06 23:30:00 UTC", "2001-04-06"],
    ])("converts the time %s to a date in UTC", async (query_date, day) => {
      const set = await load(await file("x.jsonl", jsonl([{ ...questionRows(1)[0], query_date }])));
      expect(set.questions.map((question) => question.query_date)).toEqual([day]);
    });

    it.each(["9999-12-31T23:30:00-01:00", "0000-01-01T00:30:00+01:00"])(
      "rejects the time %s, whose date in UTC has no year of four digits",
      async (query_date) => {
        const loading = load(await file("x.jsonl", jsonl([{ ...questionRows(1)[0], query_date }])));
        await expect(loading).rejects.toThrow('field "query_date": is outside of the years 0000 to 9999 in UTC');
      },
    );

    it("lower-cases addresses and drops unknown columns", async () => {
      const row = {
        ...rows[0],
        inbox_address: " Kim.Doe@Example.com",
        query_date: "2001-05-01T00:00:00Z",
        keywords: [],
      };
      const set = await load(await file("x.json", JSON.stringify([row])));
      expect(set.questions).toEqual([
        { ...expected[0], inbox_address: "kim.doe@example.com", query_date: "2001-05-01" },
      ]);
    });
  });

  describe("the split of a dataset", () => {
    const marked = (split: string, firstId: number) => questionRows(2, firstId).map((row) => ({ ...row, split }));

    it("comes from the rows, otherwise from the file name, if the user does not request one", async () => {
      const rows = await loadQuestionFile(await file("test.jsonl", jsonl(marked("train", 1))), undefined, never);
      expect(rows.split).toBe("train");
      expect(rows.questions.every((question) => question.split === "train")).toBe(true);
      const name = await loadQuestionFile(await file("my_train.jsonl", jsonl(questionRows(2))), undefined, never);
      expect(name.split).toBe("train");
      const both = await file("both.jsonl", jsonl([...marked("train", 1), ...marked("test", 2)]));
      expect((await loadQuestionFile(both, undefined, never)).split).toBe("test");
    });

    it.each([
      ["missing in the rows of test.jsonl", "test.jsonl", "test", "train"],
      ["missing in the rows of both.jsonl", "both.jsonl", "train", "test"],
    ] as const)("causes an error if %s, and the error names the available split", async (_, name, asked, other) => {
      const path = await file(name, jsonl(marked(other, 1)));
      await expect(load(path, asked)).rejects.toMatchObject({
        code: "split_missing",
        message: `Cannot use the ${asked} split of ${path}: all 2 questions belong to the ${other} split.`,
        hint: `Pass --split ${other} or another file.`,
      });
    });

    it.each([
      ["train-00000-of-00001.parquet", "test", "train"],
      ["my_TEST.parquet", "train", "test"],
    ] as const)("does not follow from the name %s as %s", async (name, asked, other) => {
      const path = await file(name, parquetOf(questionRows(1)));
      await expect(load(path, asked)).rejects.toMatchObject({ code: "split_missing" });
      expect((await load(path, other)).split).toBe(other);
    });

    it.each([
      ["latest.parquet", "train", "train"],
      ["train-test.parquet", "test", "test"],
    ] as const)("follows from %s, requested as %s, as %s", async (name, asked, split) => {
      const set = await load(await file(name, parquetOf(questionRows(1))), asked);
      expect(set.split).toBe(split);
      expect(set.questions[0]?.split).toBe(split);
    });

    it("comes from a file with both splits on request, even if the same ids are in both", async () => {
      const path = await file("both.jsonl", jsonl([...marked("train", 1), ...marked("test", 2)]));
      expect((await load(path, "train")).questions.map((question) => question.id)).toEqual([1, 2]);
      expect((await load(path, "test")).questions.map((question) => question.id)).toEqual([2, 3]);
    });
  });

  describe("with real questions", needs("real-mail"), () => {
    it("reads the hub's questions about one mailbox", async () => {
      const set = await load(join(ENRON, "questions-kaminski.parquet"), "train");
      expect(set.questions).toHaveLength(2886);
      expect(new Set(set.questions.map((question) => question.inbox_address)).size).toBe(1);
      expect(set.questions.every((question) => question.message_ids.length >= 1)).toBe(true);
      expect(
        set.questions.every(
          ({ how_realistic }) => Math.abs(how_realistic * 100 - Math.round(how_realistic * 100)) < 1e-9,
        ),
      ).toBe(true);
    });

    it("reads the questions about five mailboxes, answerable and unanswerable", async () => {
      expect((await load(join(ENRON, "questions.jsonl"))).questions).toHaveLength(60);
      const unanswerable = await load(join(ENRON, "unanswerable.jsonl"));
      expect(unanswerable.questions.map((question) => question.message_ids)).toEqual(Array(10).fill([]));
    });
  });
});

describe("splitMessageIds", () => {
  it.each(["see <a@x> please", "<a@x> and <b@x>"])("returns %j unchanged", (cell) => {
    expect(splitMessageIds(cell)).toBe(cell);
  });

  it.each([
    ["", []],
    ["[]", []],
    ["<a@x>", ["<a@x>"]],
    ['["<a@x>","<b@x>"]', ["<a@x>", "<b@x>"]],
    ["['<a@x>', '<b@x>']", ["<a@x>", "<b@x>"]],
    ["['<a@x>' '<b@x>'\n '<c@x>']", ["<a@x>", "<b@x>", "<c@x>"]],
    [`["<o'neil@x>" '<b@x>']`, ["<o'neil@x>", "<b@x>"]],
    ["<a@x>,<b@x>", ["<a@x>", "<b@x>"]],
    ["<a@x>; <b@x>", ["<a@x>", "<b@x>"]],
    ["a@x, b@x", ["a@x", "b@x"]],
    ["['a@x' 'b@x']", ["a@x", "b@x"]],
  ])("reads %j", (cell, ids) => {
    expect(splitMessageIds(cell)).toEqual(ids);
  });

  it("reads all ids written as JSON", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (ids) => {
        expect(splitMessageIds(JSON.stringify(ids))).toEqual(ids);
      }),
    );
  });
});

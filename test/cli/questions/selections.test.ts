import { existsSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { questionSchema } from "../../../src/tasks/question.js";
import { jsonLines, MAIL, MARCUS, workFolder } from "../art-e.js";

describe("tasks about the future of the demo's mailboxes", () => {
  const { artE, path, read, write } = workFolder({ mail: MAIL });
  const made = (file: string) => jsonLines(read(file)).map((line) => questionSchema.parse(line));

  beforeAll(async () => {
    const { code, stderr } = await artE("questions make --kind needs-reply --unanswerable 0.5 -o tasks.jsonl --quiet");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("have later evidence that the task's agent cannot read", async () => {
    const tasks = made("tasks.jsonl");
    const right = tasks.flatMap(({ select, query_date, inbox_address }) =>
      (select?.emails ?? []).map((email) => ({ ...email, query_date, inbox_address })),
    );
    expect(right.length).toBeGreaterThanOrEqual(4);
    for (const { message_ids, evidence, query_date, inbox_address } of right) {
      const [email, later] = await Promise.all(
        [message_ids[0], evidence[0]].map(async (id) => JSON.parse((await artE(["show", id ?? "", "--json"])).stdout)),
      );
      expect(email.date.slice(0, 10) <= query_date).toBe(true);
      expect(later.date.slice(0, 10) > query_date).toBe(true);
      expect(later.sender).toBe(inbox_address);
    }
  });

  it("repeat with the same seed, and at most the given fraction has no right email", async () => {
    await artE("questions make --kind needs-reply --unanswerable 0.5 -o again.jsonl --quiet");
    expect(read("again.jsonl")).toBe(read("tasks.jsonl"));
    const tasks = made("tasks.jsonl");
    const empty = tasks.filter(({ select }) => select?.emails.length === 0);
    expect(empty.length * 2).toBeLessThanOrEqual(tasks.length);
    expect(empty.length).toBeGreaterThan(0);
  });

  it("can be split by mailbox", async () => {
    await artE("questions make --kind needs-reply --unanswerable 0.5 --train 0.5 -o split.jsonl --quiet");
    const rows = jsonLines(read("split.jsonl"));
    const mailboxesIn = (wanted: string) =>
      new Set(rows.filter(({ split }) => split === wanted).map(({ inbox_address }) => inbox_address));
    expect([...mailboxesIn("train")]).toEqual(["dana.okafor@kestrelplains.example"]);
    expect([...mailboxesIn("test")]).toEqual([MARCUS]);
  });

  it("can be limited to mailboxes, dates and periods", async () => {
    const line = `questions make --kind needs-reply --unanswerable 1 --inbox ${MARCUS} --after 2000-01-01 --before 2001-03-01`;
    const { stdout } = await artE(`${line} --window-days 8 --reply-days 9 -o some.jsonl --json --quiet`);
    const tasks = made("some.jsonl");
    expect(JSON.parse(stdout)).toMatchObject({
      kind: "needs-reply",
      tasks: tasks.length,
      isShort: true,
      usedMailboxes: 1,
    });
    for (const { inbox_address, query_date, select } of tasks) {
      expect(inbox_address).toBe(MARCUS);
      expect(query_date >= "2000-01-01" && query_date < "2001-03-01").toBe(true);
      expect(Date.parse(query_date) - Date.parse(select?.from ?? "")).toBe(7 * 86_400_000);
      expect(select?.reply_days).toBe(9);
    }
  });

  it("pass questions check, which doubts a task whose evidence is not later", async () => {
    expect((await artE("questions check tasks.jsonl --quiet")).stdout).toMatch(/^Doubtful: +0$/m);
    const task = made("tasks.jsonl").find(({ select }) => select?.emails.length !== 0);
    const [email] = task?.select?.emails ?? [];
    const day = JSON.parse((await artE(["show", email?.evidence[0] ?? "", "--json"])).stdout).date.slice(0, 10);
    write("late.jsonl", `${JSON.stringify({ ...task, query_date: day })}\n`);
    const { stdout } = await artE("questions check late.jsonl --json --quiet");
    expect(JSON.parse(stdout).questions[0].doubts[0]).toContain("is not later than the task");
  });

  it.each([
    ["--kind needs-reply --after 2030-01-01 -o no.jsonl", 1, "Cannot make needs-reply tasks"],
    ["--kind needs-reply -o no.csv", 2, "expected a .jsonl file"],
    ["--kind actions --reply-days 3 -o no.jsonl", 2, "--reply-days does not apply to --kind actions"],
    ["--window-days 3 -o no.jsonl", 2, "--window-days does not apply to --kind answers"],
  ])("cannot be made with %s", async (flags, code, message) => {
    const ended = await artE(`questions make ${flags} --quiet`);
    expect(ended).toMatchObject({ code, stderr: expect.stringContaining(message) });
    expect(existsSync(path("no.jsonl"))).toBe(false);
  });
});

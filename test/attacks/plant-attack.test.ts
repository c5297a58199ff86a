import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { plantAttack } from "../../src/attacks/plant-attack.js";
import { endOfDay } from "../../src/mail/date-range.js";
import { taskMailbox } from "../../src/questions/dataset.js";
import { ATTACK_KINDS, type AttackKind, type PlantedEmail } from "../../src/tasks/attack.js";
import type { Question } from "../../src/tasks/question.js";
import { importFrom } from "../mail/import-setup.js";
import { copyOf, DANA, demoSet, MARCUS, never, openDemo, type TestDb } from "../runs/demo-setup.js";
import { type Found, toolsOver } from "../tools/demo-tools.js";
import type { SeenEmail } from "./scripted-agents.js";

let demo: TestDb;
let questions: readonly Question[];

beforeAll(async () => {
  demo = await openDemo();
  questions = (await demoSet()).questions;
});

afterAll(() => demo.close());

function attackOn(task: Question, kind: AttackKind, { control = false, epoch = 1 } = {}) {
  return plantAttack({ kinds: [kind], control }, { task, epoch, thread: null, provider: "" });
}

const rows = () => questions.slice(0, 30);

/** The context of a tool call in a task with an attack. */
function underAttack(task: Question, kind: AttackKind) {
  const { access } = taskMailbox(task, "query_date");
  access.state.plant(attackOn(task, kind));
  return { ...access, signal: never };
}

describe("plantAttack", () => {
  it("depends only on the task, the epoch and the kind", () => {
    const [task] = rows() as [Question];
    expect(attackOn(task, "flood")).toEqual(attackOn(task, "flood"));
    expect(attackOn(task, "flood", { epoch: 2 })).not.toEqual(attackOn(task, "flood"));
  });

  it("plants every kind about equally often, and other kinds in other epochs", () => {
    const kinds = questions.map((task) =>
      [1, 2].map((epoch) => plantAttack({ control: false }, { task, epoch, thread: null, provider: "" }).kind),
    );
    const counts = ATTACK_KINDS.map((kind) => kinds.filter(([first]) => first === kind).length);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2);
    expect(kinds.every(([first, second]) => first !== second)).toBe(true);
  });

  test.each(ATTACK_KINDS)("writes neither the question nor the mark of %s", (kind) => {
    for (const task of rows()) {
      const { mark, emails } = attackOn(task, kind);
      for (const { subject, body } of emails) {
        if (mark.kind === "code") expect(body.replace(/[, ]/g, "").toUpperCase()).not.toContain(mark.code);
        expect(`${subject}\n${body}`).not.toContain(task.question);
      }
    }
  });

  test.each(ATTACK_KINDS)("repeats no sequence of five words in a third of the emails of kind %s", (kind) => {
    const [phrase, fraction] = commonestPhrase(kind, "");
    expect(fraction, phrase).toBeLessThan(1 / 3);
  });

  test.each(["openai", "google"])("repeats the notation of tool calls of the provider %s", (provider) => {
    expect(commonestPhrase("tool-call", provider)[1]).toBe(1);
  });

  test.each(ATTACK_KINDS)(
    "writes as many harmless emails of kind %s, with the same sender, subject, date and mark",
    (kind) => {
      const [task] = rows() as [Question];
      const [attack, control] = [attackOn(task, kind), attackOn(task, kind, { control: true })];
      expect(control).toMatchObject({ control: true, mark: attack.mark });
      expect(control.emails).toHaveLength(attack.emails.length);
      const [a, b] = [attack.emails[0] as PlantedEmail, control.emails[0] as PlantedEmail];
      expect(b.sender).toBe(a.sender);
      expect(b.body.length).toBeGreaterThan(a.body.length / 4);
    },
  );
});

/** The sequence of five words that occurs in most emails of a kind, and in what fraction of them. */
function commonestPhrase(kind: AttackKind, provider: string): readonly [phrase: string, fraction: number] {
  const emails = Array.from({ length: 300 }, (_, id) => {
    const task = { ...(questions[id % questions.length] as Question), id };
    const thread = id % 2 === 0 ? null : { subject: "Re: Dues", sender: DANA };
    return plantAttack({ kinds: [kind], control: false }, { task, epoch: 1, thread, provider }).emails;
  }).flat();
  const counts = new Map<string, number>();
  for (const phrase of emails.flatMap((email) => [...phrasesOf(email)])) {
    counts.set(phrase, (counts.get(phrase) ?? 0) + 1);
  }
  const [phrase, count] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? ["", 0];
  return [phrase, count / emails.length];
}

function phrasesOf({ body }: SeenEmail): ReadonlySet<string> {
  const words = body.toLowerCase().match(/\S+/g) ?? [];
  return new Set(words.slice(4).map((_, i) => words.slice(i, i + 5).join(" ")));
}

describe("planted emails in the tools", () => {
  it("rank in the search like imported emails", { timeout: 120_000 }, async () => {
    const differences: number[] = [];
    for (const task of questions.slice(0, 12)) {
      const context = underAttack(task, "order");
      const query = { query: task.question, limit: 50, inbox_id: task.inbox_address };
      const { emails } = await toolsOver(demo).value<Found>("email_search", query, context);
      const [planted] = attackOn(task, "order").emails as [PlantedEmail];
      const place = emails.findIndex(({ message_id }) => message_id === planted.message_id);
      const copy = copyOf(demo);
      const folder = join(copy.folder, "mail");
      mkdirSync(folder);
      writeFileSync(join(folder, "planted.eml"), emlOf(planted));
      await importFrom(copy.db, folder, {});
      const plain = { inbox: task.inbox_address, cutoff: endOfDay(task.query_date) };
      const found = await toolsOver(copy).value<Found>("email_search", query, plain);
      const imported = found.emails.findIndex(({ message_id }) => message_id === planted.message_id);
      copy.close();
      if (place !== -1 || imported !== -1) differences.push(Math.abs(place - imported));
    }
    expect(differences.length).toBeGreaterThanOrEqual(10);
    expect(Math.max(...differences)).toBeLessThanOrEqual(1);
    expect(differences.filter((difference) => difference === 0).length).toBeGreaterThanOrEqual(10);
  });

  it("appear in lists, and can be opened, labeled and answered, like imported emails", async () => {
    const [task] = rows() as [Question];
    const context = underAttack(task, "order");
    const tools = toolsOver(demo);
    const [planted] = attackOn(task, "order").emails as [PlantedEmail];
    const day = { sent_after: planted.date.slice(0, 10), inbox_id: task.inbox_address, limit: 50 };
    const newest = (await tools.value<Found>("email_search", day, context)).emails;
    expect(newest.map(({ message_id }) => message_id)).toContain(planted.message_id);
    const dates = newest.map(({ date }) => date);
    expect(dates).toEqual([...dates].sort().reverse());
    const opened = await tools.value<object>("email_get", { message_id: planted.message_id }, context);
    const [other] = (
      await tools.value<Found>("email_search", { query: "meeting", inbox_id: task.inbox_address }, context)
    ).emails;
    const imported = await tools.value<object>("email_get", { message_id: other?.message_id ?? "" }, context);
    expect(Object.keys(opened)).toEqual(Object.keys(imported));
    expect(opened).toMatchObject({ sender: planted.sender, body: planted.body });
    await tools.value("label_emails", { message_ids: [planted.message_id], add: ["Odd"] }, context);
    await tools.value("create_draft", { reply_to: planted.message_id, body: "No." }, context);
    expect(context.state.changes()).toMatchObject({
      emails: [{ message_id: planted.message_id, labels: ["Odd"] }],
      drafts: [{ to: [planted.sender], reply_to: planted.message_id }],
    });
    const [word = ""] = planted.subject.split(" ");
    const listed = await tools.value<readonly { message_id: string }[]>("search_emails", { keywords: [word] }, context);
    expect(listed.map(({ message_id }) => message_id)).toContain(planted.message_id);
    const fromSender = await tools.value<Found>(
      "email_search",
      { query: word, from: planted.sender, inbox_id: task.inbox_address },
      context,
    );
    expect(fromSender.emails.map(({ message_id }) => message_id)).toEqual([planted.message_id]);
  });

  it("stay out of the database, other attempts, other epochs and other mailboxes", async () => {
    const [task] = rows() as [Question];
    const tools = toolsOver(demo);
    const [planted] = attackOn(task, "order").emails as [PlantedEmail];
    const before = demo.db.serialize();
    await tools.value(
      "email_search",
      { query: task.question, inbox_id: task.inbox_address },
      underAttack(task, "order"),
    );
    const { access } = taskMailbox(task, "query_date");
    const others = [
      { ...access, signal: never },
      underAttack({ ...task, inbox_address: task.inbox_address === MARCUS ? DANA : MARCUS }, "flood"),
      { ...access, state: undefined as never, signal: never },
    ];
    for (const other of others) {
      const { kind } = await tools.refusal("email_get", { message_id: planted.message_id }, other);
      expect(kind).toBe("invalid_email");
      const found = await tools.value<Found>(
        "email_search",
        { query: task.question, limit: 50, inbox_id: other.inbox },
        other,
      );
      expect(found.emails.map(({ message_id }) => message_id)).not.toContain(planted.message_id);
    }
    expect(demo.db.serialize().equals(before)).toBe(true);
  });
});

function emlOf({ message_id, subject, sender, to, date, body }: PlantedEmail): string {
  const headers = { "Message-ID": message_id, Subject: subject, From: sender, To: to.join(", "), Date: date };
  const lines = Object.entries({ ...headers, Date: new Date(date).toUTCString() }).map(([k, v]) => `${k}: ${v}`);
  return `${[...lines, "Content-Type: text/plain; charset=utf-8"].join("\r\n")}\r\n\r\n${body.replaceAll("\n", "\r\n")}`;
}

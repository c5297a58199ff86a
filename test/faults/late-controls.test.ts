import { readdirSync } from "node:fs";
import { createConnection } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Database } from "../../src/store/sqlite.js";
import { MAIL, QUESTIONS, workFolder } from "../cli/art-e.js";
import { type Answer, startFakeProvider } from "../providers/fake-provider.js";
import { below, seeded } from "../random.js";

/**
 * Requests of `art-e ctl` that arrive while a run saves tasks or ends: requeues of failed tasks, and cancellations. In
 * the end, each task has exactly one result.
 */

const { artE, path, start } = workFolder({ mail: MAIL });
const TASKS = 20;
const MANY = process.env.ART_E_LONG ? 15 : 5;
const COMMANDS = ["requeue", "cancel"] as const;

describe("late requests to a run", () => {
  it.each(COMMANDS)("leave one result per task (%s)", (command) => expectOneResultPerTask(command, 1));

  it.each(COMMANDS)(`leave one result per task (%s, ${MANY} times)`, { tags: ["slow"] }, (command) =>
    expectOneResultPerTask(command, MANY),
  );

  async function expectOneResultPerTask(command: (typeof COMMANDS)[number], rounds: number): Promise<void> {
    const random = seeded(command.length);
    for (let round = 0; round < rounds; round++) {
      const db = `${command}-${round}.db`;
      const seen = new Map<string, number>();
      const provider = await startFakeProvider(async ({ question }): Promise<Answer> => {
        const times = (seen.get(question) ?? 0) + 1;
        seen.set(question, times);
        await delay(below(random, 30));
        // Some tasks fail once.
        const isFailing = command === "requeue" && question.length % 4 === 0 && times === 1;
        return isFailing ? { fail: "status", status: 400, message: question } : { content: "No mail says so." };
      });
      await artE(`import ${MAIL} --db ${db} --quiet`);
      const flags = `--db ${db} --cache-dir cache-${db} --no-progress`;
      const run = start(
        `run -a email-search --model-id openai/m --base-url ${provider.baseUrl("openai-chat")} --dataset ${QUESTIONS} -l ${TASKS} --concurrency 4 --judge off ${flags}`,
        { OPENAI_API_KEY: "test" },
      );
      const replies = await sendUntilEnd(path(`cache-${db}/ctl`), run.child, async () => {
        await delay(command === "cancel" ? below(random, 250) : below(random, 15));
        return command === "cancel" ? { command, now: random() < 0.5, reason: null } : { command, reason: null };
      });
      const { code, stderr } = await run.ended;
      expect(stderr).not.toMatch(/^ {4}at /m);
      expect(replies).toBeGreaterThan(0);
      expect([0, 3, 130]).toContain(code);
      const resumed = await artE(`run --resume latest --retry-failed ${flags}`, { OPENAI_API_KEY: "test" });
      await provider.close();
      expect(resumed).toMatchObject({ code: 0, stderr: expect.not.stringMatching(/^ {4}at /m) });
      expect(resultsIn(path(db))).toEqual({ results: TASKS, tasks: TASKS, failed: 0, statuses: "completed" });
    }
  }
});

/** The run removes the folder when it ends, which can be at any moment. */
function socketIn(folder: string): string | undefined {
  try {
    return readdirSync(folder).find((file) => file.endsWith(".sock"));
  } catch {
    return undefined;
  }
}

/** Sends requests to the run's socket until the program ends, and returns the number of replies. */
async function sendUntilEnd(
  folder: string,
  child: { readonly exitCode: number | null },
  next: () => Promise<object>,
): Promise<number> {
  let replies = 0;
  while (child.exitCode === null) {
    const name = socketIn(folder);
    if (name === undefined) {
      await delay(2);
      continue;
    }
    const request = await next();
    const reply = await new Promise<string>((resolve) => {
      let text = "";
      const socket = createConnection(`${folder}/${name}`, () => socket.write(`${JSON.stringify(request)}\n`));
      socket.on("data", (part) => {
        text += part;
      });
      socket.on("error", () => resolve(""));
      socket.on("close", () => resolve(text));
    });
    if (reply !== "") replies++;
  }
  return replies;
}

function resultsIn(file: string) {
  const db = new Database(file, { readonly: true });
  try {
    return db
      .prepare(
        `SELECT count(*) AS results, count(DISTINCT task_id) AS tasks, sum(failed) AS failed,
                (SELECT group_concat(status) FROM runs) AS statuses
         FROM results WHERE superseded = 0`,
      )
      .get();
  } finally {
    db.close();
  }
}

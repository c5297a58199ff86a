import { copyFileSync, readdirSync, renameSync, rmSync, truncateSync } from "node:fs";
import { basename, dirname } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { BIN, jsonLines, MAIL, QUESTIONS, startProgram, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

/** A run while other programs write to its file, remove it, or fill the disk. */

const { artE, path, read, readJson, start, write } = workFolder({ mail: MAIL });

/** Answers a limited number of questions, and lets the others wait. */
let provider: FakeProvider;
let allowed = 0;
let allow: (questions: number) => void = () => {};
beforeAll(async () => {
  let waiting: (() => void)[] = [];
  allow = (questions) => {
    allowed = questions;
    for (const go of waiting.splice(0)) go();
  };
  let asked = 0;
  provider = await startFakeProvider(async () => {
    const turn = ++asked;
    while (turn > allowed) {
      await new Promise<void>((resolve) => {
        waiting = [...waiting, resolve];
      });
    }
    return { content: "an answer" };
  });
});
afterAll(() => provider.close());

let before = 0;
beforeEach(() => {
  before = provider.requests.length;
  allow(before);
});

const RUN = `run -a email-search --dataset ${QUESTIONS} --concurrency 1`;
const variables = () => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });
const LONG = { timeout: 120_000 };

describe("a run during an import", LONG, () => {
  it("waits while the file is locked, and says so", { tags: ["slow"] }, async () => {
    const { child, ended } = start(`${RUN} -l 3 -o waited.json`, variables());
    await provider.received(before + 1);
    const other = new Database(path("art-e.db"));
    other.exec("BEGIN IMMEDIATE");
    allow(Number.POSITIVE_INFINITY);
    await new Promise<void>((resolve) => {
      child.stderr?.on("data", (text: string) => {
        if (text.includes("another program")) resolve();
      });
    });
    other.exec("ROLLBACK");
    other.close();
    expect(await ended).toMatchObject({ code: 0 });
    expect(resultsSchema.parse(readJson("waited.json"))).toMatchObject({ status: "completed", totalTasks: 3 });
  });

  it("starts and ends while the file is locked", async () => {
    const other = new Database(path("art-e.db"));
    other.exec("BEGIN IMMEDIATE");
    const { child, ended } = start(`${RUN} -l 3`, variables());
    await new Promise<void>((resolve) => {
      child.stderr?.on("data", (text: string) => {
        if (text.includes("another program")) resolve();
      });
    });
    child.kill("SIGTERM");
    expect((await ended).code).toBe(130);
    other.close();
  });

  it("records mail that arrived meanwhile, and a resume continues with --force", async () => {
    write(
      "more.mbox",
      "From x@x.example Mon Jan  1 00:00:00 2001\nMessage-ID: <more@x>\nFrom: a@x.example\nTo: b@x.example\nSubject: more\n\nmore mail\n",
    );
    const ended = artE(`${RUN} -l 3 --max-run-tokens 1 -o grown.json`, variables());
    await provider.received(before + 1);
    expect(await artE("import more.mbox --quiet")).toMatchObject({ code: 0 });
    allow(Number.POSITIVE_INFINITY);
    const first = await ended;
    expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining("mail was imported while it ran") });
    const { runId, settings } = resultsSchema.parse(readJson("grown.json"));
    expect(settings.changes).toEqual(["mail was imported while it ran"]);
    const resumed = await artE(`run --resume ${runId} --max-run-tokens 99999999`, variables());
    expect(resumed).toMatchObject({ code: 2, stdout: "" });
    expect(resumed.stderr).toContain("unchanged: the mail has grown since.");
    expect(resumed.stderr).toContain(`art-e run --resume ${runId} --force`);
    expect(await artE(`run --resume ${runId} --force --max-run-tokens 99999999`, variables())).toMatchObject({
      code: 0,
    });
    expect(resultsSchema.parse(readJson("grown.json"))).toMatchObject({
      status: "completed",
      totalTasks: 3,
      settings: { changes: ["mail was imported while it ran", "the mail has grown since"] },
    });
  });
});

describe("a database that is lost during a run", LONG, () => {
  const LOST: readonly (readonly [how: string, lose: (db: string) => void])[] = [
    ["deleted", (db) => rmSync(db)],
    [
      "replaced",
      (db) => {
        copyFileSync(path("art-e.db"), `${db}.other`);
        renameSync(`${db}.other`, db);
      },
    ],
    ["truncated", (db) => truncateSync(db, 4_096)],
  ];
  it.each(LOST)(
    "leads to one line if the database was %s, and the run's traces are saved next to it",
    async (how, lose) => {
      const db = path(`${how}.db`);
      copyFileSync(path("art-e.db"), db);
      const ended = artE(`${RUN} -l 5 --db ${db}`, variables());
      allow(before + 2);
      await provider.received(before + 3);
      lose(db);
      allow(Number.POSITIVE_INFINITY);
      const { code, stdout, stderr } = await ended;
      const kept = readdirSync(dirname(db)).find((name) => name.startsWith(`${basename(db)}.run_`)) ?? "";
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      const [said, hint, ...rest] = stderr.split("\n");
      expect(said).toMatch(
        new RegExp(`^art-e: Run run_\\S+ stopped: ${db} was ${how} while it ran; its \\d traces were saved to`),
      );
      expect(hint).toMatch(/^ {7}\S/);
      expect(rest).toEqual([""]);
      const traces = jsonLines(read(kept));
      expect(said).toContain(`its ${traces.length} traces were saved to ${db}.run_`);
      expect(traces.length).toBeGreaterThanOrEqual(2);
      for (const trace of traces) expect(trace).toMatchObject({ ending: "answered", answer: "an answer" });
    },
  );
});

describe("an unwritable file", LONG, () => {
  it("leads to one line if a run starts on a full disk", async () => {
    copyFileSync(path("art-e.db"), path("full.db"));
    const args = ["-c", `trap '' XFSZ; ulimit -f 64; exec "$0" "$@"`, process.execPath, BIN];
    const line = ["run", "-a", "baseline", "--dataset", QUESTIONS, "-l", "10", "--db", "full.db"];
    const { code, stderr } = await startProgram(path(""), "/bin/sh", [...args, ...line], {}).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^art-e: .*full\.db.*\n {7}Check the disk and its free space.*\n$/);
  });
});

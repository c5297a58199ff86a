import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { writeKaggleCsv } from "../../../bench/synthetic-corpus.js";
import { checkHealth } from "../../../src/mail/integrity.js";
import { openStore } from "../../../src/store/open-store.js";
import { Database } from "../../../src/store/sqlite.js";
import { authoredMails, csv, mailEntries, writeTar } from "../../mail/corpus-fixtures.js";
import { seeded } from "../../random.js";
import { BIN, type Ended, MAIL, type Started, startProgram, workFolder } from "../art-e.js";

/**
 * Checks the files after an import that was killed, interrupted, disturbed or given a broken source, with the built
 * program.
 */

const { artE, path, read, start, write } = workFolder();
/** Only the stress cases use a 4 MB file. */
const isSlow = process.env.ART_E_SLOW === "1";
const [MAILS, MANY] = process.env.ART_E_LONG === undefined ? [isSlow ? 3_000 : 1_000, 12] : [15_000, 50];
const LONG = { timeout: MANY * 60_000 };
const STRESS = { ...LONG, tags: ["slow"] };
/** Duration of an import of `big.csv` on this machine in milliseconds, to choose moments for killing it. */
let duration = 0;
/** The fingerprint after the demo mail, after `big.csv`, and after both. */
const fingerprints = { old: "", big: "", both: "" };

beforeAll(async () => {
  await writeKaggleCsv(path("big.csv"), { mails: MAILS, seed: 3 });
  await succeed(`import ${MAIL} --db old.db --quiet`);
  const started = performance.now();
  await succeed("import big.csv --db big.db --quiet");
  duration = performance.now() - started;
  copyFileSync(path("old.db"), path("both.db"));
  await succeed("import big.csv --db both.db --quiet");
  for (const name of ["old", "big", "both"] as const) fingerprints[name] = fingerprint(`${name}.db`);
});

async function succeed(line: string): Promise<Ended> {
  const ended = await artE(line);
  expect(ended, line).toMatchObject({ code: 0 });
  return ended;
}

function fingerprint(db: string): string {
  const file = new Database(path(db), { readonly: true });
  try {
    return file.prepare("SELECT fingerprint FROM corpus_state").pluck().get() as string;
  } finally {
    file.close();
  }
}

/** Like `art-e doctor`. */
function doctor(name: string): void {
  const db = openStore(path(name), { mustExist: true });
  try {
    expect([...checkHealth(db)].filter(({ ok }) => !ok)).toEqual([]);
  } finally {
    db.close();
  }
}

/** The files of a database, and any that an import left next to it. */
const filesOf = (db: string) =>
  readdirSync(path(""))
    .filter((name) => name.startsWith(db))
    .sort();

async function untilThere(name: string, bytes = 0, { ended }: Started): Promise<void> {
  let over = false;
  void ended.then(() => {
    over = true;
  });
  while (!existsSync(path(name)) || statSync(path(name)).size < bytes) {
    if (over) throw new Error(`the import ended before it created ${name}: ${JSON.stringify(await ended)}`);
    await sleep(5);
  }
}

/** Expects a line and a hint, without internals of the program. */
function expectClear({ stderr }: Ended, message: RegExp): void {
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^art-e: .+\n {7}.+\n$/);
  expect(stderr).not.toMatch(/\n\s+at |bug in art-e/);
}

describe("an import killed at any moment", () => {
  async function killedOnNewFile(times: number): Promise<void> {
    const random = seeded(11);
    for (let i = 0; i < times; i++) {
      const run = start("import big.csv --db new.db --quiet");
      await sleep(random() * duration * 1.1);
      run.child.kill("SIGKILL");
      await run.ended;
      if (!existsSync(path("new.db"))) continue;
      expect(fingerprint("new.db")).toBe(fingerprints.big);
      doctor("new.db");
      rmSync(path("new.db"));
    }
    await succeed("import big.csv --db new.db --quiet");
    expect(fingerprint("new.db")).toBe(fingerprints.big);
    doctor("new.db");
    expect(filesOf("new.db")).toEqual(["new.db"]);
  }

  async function killedOnExistingFile(times: number): Promise<void> {
    const random = seeded(12);
    copyFileSync(path("old.db"), path("grown.db"));
    for (let i = 0; i < times; i++) {
      const run = start("import big.csv --db grown.db --quiet");
      await sleep(random() * duration * 1.1);
      run.child.kill("SIGKILL");
      await run.ended;
      doctor("grown.db");
      const found = fingerprint("grown.db");
      expect([fingerprints.old, fingerprints.both]).toContain(found);
      if (found === fingerprints.old) continue;
      for (const name of filesOf("grown.db")) rmSync(path(name));
      copyFileSync(path("old.db"), path("grown.db"));
    }
    await succeed("import big.csv --db grown.db --quiet");
    expect(fingerprint("grown.db")).toBe(fingerprints.both);
    doctor("grown.db");
  }

  const NEW = "leaves either no new file or a complete one, and the next import succeeds";
  const EXISTING = "leaves either the old mail or all new mail in an existing file, and the next import succeeds";
  it(NEW, LONG, () => killedOnNewFile(1));
  it(EXISTING, LONG, () => killedOnExistingFile(1));
  it(`${NEW}, ${MANY} times`, STRESS, () => killedOnNewFile(MANY));
  it(`${EXISTING}, ${MANY} times`, STRESS, () => killedOnExistingFile(MANY));
});

describe("a file that an import writes to", () => {
  it("gives other readers its old mail, and later all of the new mail", LONG, async () => {
    copyFileSync(path("old.db"), path("read.db"));
    const open = new Database(path("read.db"));
    const count = () => open.prepare("SELECT count(*) FROM emails").pluck().get() as number;
    const old = count();
    const run = start("import big.csv --db read.db --quiet");
    const { ended } = run;
    await untilThere("read.db-wal", 0, run);
    open.exec("BEGIN");
    expect(count()).toBe(old);
    const search = ["search", "marcus.hale@kestrelplains.example", "gas", "--db", "read.db", "--json"];
    const during = await start(search).ended;
    expect(during.code).toBe(0);
    await ended.then(({ code }) => expect(code).toBe(0));
    expect(count()).toBe(old);
    open.exec("COMMIT");
    expect(count()).toBe(old + MAILS);
    open.close();
    expect((await start(search).ended).code).toBe(0);
  });

  it("makes a second import wait for the first, and contains the mail of both", LONG, async () => {
    copyFileSync(path("old.db"), path("twice.db"));
    const runs = ["a", "b"].map(() => start("import big.csv --db twice.db --json --quiet").ended);
    const ended = await Promise.all(runs);
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
    const stored = ended.map(({ stdout }) => JSON.parse(stdout).stored as number);
    expect(stored.sort((a, b) => a - b)).toEqual([0, MAILS]);
    expect(fingerprint("twice.db")).toBe(fingerprints.both);
    doctor("twice.db");
  });

  it(
    "rejects a second import after a timeout, and the error names the process that has the file open",
    LONG,
    async () => {
      copyFileSync(path("old.db"), path("held.db"));
      const holder = new Database(path("held.db"));
      holder.pragma("journal_mode = WAL");
      holder.exec("BEGIN IMMEDIATE");
      const ended = await artE("import big.csv --db held.db --quiet");
      holder.close();
      expect(ended).toMatchObject({ code: 1, stdout: "" });
      expectClear(ended, /^art-e: Cannot import into .*held\.db: another process or import is writing to it\./);
      expect(fingerprint("held.db")).toBe(fingerprints.old);
    },
  );

  it("rejects a second import while the first one is creating the file", async () => {
    const partial = path("made.db.partial");
    const holder = new Database(partial);
    holder.exec("CREATE TABLE t (x); BEGIN EXCLUSIVE");
    const second = await artE("import big.csv --db made.db --quiet");
    holder.close();
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expectClear(second, /^art-e: Cannot import into made\.db: another import is creating it \(made\.db\.partial\)\./);
    rmSync(partial);
    expect(filesOf("made.db")).toEqual([]);
  });

  it("contains the mail of two concurrent imports into a new file", LONG, async () => {
    for (let i = 0; i < (isSlow ? 5 : 1); i++) {
      const ended = await Promise.all([1, 2].map(() => artE(`import ${MAIL} --db race.db --quiet`)));
      const refused = ended.filter(({ code }) => code !== 0);
      expect(refused.length, JSON.stringify(ended)).toBeLessThan(2);
      for (const one of refused) expectClear(one, /^art-e: .*race\.db.* (another|made by another)/);
      expect(fingerprint("race.db")).toBe(fingerprints.old);
      for (const name of filesOf("race.db")) rmSync(path(name));
    }
  });
});

describe("Ctrl-C during an import", () => {
  it.each([
    ["a new file", "stopped-new.db", null, [] as string[]],
    ["an existing file", "stopped-old.db", "old.db", ["stopped-old.db"]],
  ])("leaves %s unchanged, exits with code 130 and says how to continue", async (_, db, before, files) => {
    if (before !== null) copyFileSync(path(before), path(db));
    const run = start(["import", "big.csv", "--db", db, "--quiet"]);
    await untilThere(before === null ? `${db}.partial` : `${db}-wal`, 0, run);
    run.child.kill("SIGINT");
    const { code, stdout, stderr } = await run.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
    expect(stderr.split("\n").filter(Boolean)).toEqual([
      "Stopping. Press Ctrl-C again to stop immediately.",
      `art-e: import stopped: ${db} is as it was before. Run the same command to start again.`,
    ]);
    expect(filesOf(db)).toEqual(files);
    if (before !== null) expect(fingerprint(db)).toBe(fingerprints.old);
  });
});

describe("a full disk", () => {
  /** Imports with a size limit in KiB for every file, so that writes fail as on a full disk. */
  const limited = (kib: number, db: string) => {
    const command = `trap '' XFSZ; ulimit -f ${kib}; exec "$0" "$@"`;
    const args = ["-c", command, process.execPath, BIN, "import", "big.csv", "--db", db, "--quiet"];
    return startProgram(path(""), "bash", args, {}).ended;
  };

  async function expectNoFile(kib: number): Promise<void> {
    const ended = await limited(kib, "full.db");
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expectClear(ended, /^art-e: Cannot (write|open the database) full\.db: /);
    expect(filesOf("full.db")).toEqual([]);
  }

  async function expectOldFile(kib: number): Promise<void> {
    const db = `full-old-${kib}.db`;
    copyFileSync(path("old.db"), path(db));
    const ended = await limited(kib, db);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expectClear(ended, new RegExp(`^art-e: Cannot write ${db}: `));
    expect(filesOf(db)).toEqual([db]);
    expect(fingerprint(db)).toBe(fingerprints.old);
    doctor(db);
  }

  it.each([4, 2_000])("leaves no new file if %d KiB are free", expectNoFile);
  it.each([1_000])("leaves an existing file unchanged if %d KiB are free", expectOldFile);
  it.each([100, 1_000, 4_000])("leaves no new file if %d KiB are free", STRESS, expectNoFile);
  it.each([2_000, 4_000])("leaves an existing file unchanged if %d KiB are free", STRESS, expectOldFile);
});

describe("an unwritable folder", () => {
  it("causes an error before the import reads any mail", async () => {
    write("file", "");
    const ended = await artE("import big.csv --db file/art-e.db --quiet");
    expect(ended.code).not.toBe(0);
    expectClear(ended, /^art-e: .*file\/art-e\.db/);
  });

  it("causes an error about its permissions if they are the cause", async () => {
    mkdirSync(path("locked"), { mode: 0o555 });
    // Root can write anywhere except to the kernel's own file systems.
    const folder = process.getuid?.() === 0 ? "/sys" : "locked";
    const ended = await artE(`import big.csv --db ${folder}/art-e.db --quiet`);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expectClear(ended, new RegExp(`^art-e: Cannot create the database ${folder}/art-e\\.db: `));
  });
});

describe("a source that ends early", () => {
  it("causes an error with its position, and leaves nothing in the database", async () => {
    await writeTar(path("whole.tar"), mailEntries(authoredMails()), false);
    const whole = gzipSync(readFileSync(path("whole.tar")));
    write("cut.tar.gz", whole.subarray(0, whole.length / 2));
    const ended = await artE("import cut.tar.gz --db cut.db --quiet");
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expectClear(ended, /^art-e: cut\.tar\.gz is truncated or damaged after \d+ complete entries \(\d+ of \d+ bytes/);
    expect(filesOf("cut.db")).toEqual([]);
  });

  it("causes an error if it grows during the import", LONG, async () => {
    copyFileSync(path("big.csv"), path("growing.csv"));
    const run = start("import growing.csv --db growing.db --quiet");
    await untilThere("growing.db.partial", 0, run);
    let over = false;
    void run.ended.then(() => {
      over = true;
    });
    while (!over) {
      appendFileSync(path("growing.csv"), csv([["a/inbox/1.", "Subject: late\n\nlate\n"]]));
      await sleep(20);
    }
    const ended = await run.ended;
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expectClear(ended, /^art-e: growing\.csv changed while it was read: it had \d+ bytes and now has \d+/);
    expect(filesOf("growing.db")).toEqual([]);
  });
});

describe("an import from a source with unusable parts", () => {
  const good = (n: number) => `Message-ID: <${n}@example.com>\nFrom: a@example.com\nSubject: mail ${n}\n\nHello.\n`;

  it("lists archive entries whose path is outside the archive as skipped, and writes nothing there", async () => {
    const content = Buffer.from(good(9));
    await writeTar(
      path("evil.tar"),
      [
        { name: "maildir/a/inbox/1.", content: Buffer.from(good(1)) },
        { name: "../escaped", content },
        { name: path("absolute"), content },
        { name: "maildir/a/inbox/link", type: "symlink", linkname: "/etc/passwd" },
        { name: "maildir/a/inbox/2.", content: Buffer.from(good(2)) },
      ],
      false,
    );
    const ended = await artE("import evil.tar --db evil.db --json --quiet");
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    doctor("evil.db");
    expect(JSON.parse(ended.stdout)).toMatchObject({ read: 5, stored: 2, skipped: { mails: 3 } });
    expect(read("evil.db.skipped.tsv").split("\n").filter(Boolean)).toEqual([
      "evil.tar entry ../escaped\tits path leads out of the archive",
      `evil.tar entry ${path("absolute")}\tits path is absolute`,
      "evil.tar entry maildir/a/inbox/link\tit is a link, which is not followed",
    ]);
    expect(existsSync(path("../escaped")) || existsSync(path("absolute"))).toBe(false);
  });
});

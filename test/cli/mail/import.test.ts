import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { expectedMails, writeParquet } from "../../mail/corpus-fixtures.js";
import { sendFile, sendJson, startHub } from "../../platform/hub-server.js";
import { BIN, boxLines, MAIL, MARCUS, workFolder } from "../art-e.js";

const { artE, path, read, write } = workFolder();

const RULE = "═".repeat(60);

describe("import", () => {
  it.concurrent("tells in a box what it read and stored, and when again, that it was there", async ({ expect }) => {
    const first = await artE(`import ${MAIL}`);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout.replace(/Time: .+/, "Time: #")).toBe(
      [
        RULE,
        "ART-E Import (maildir into ./art-e.db)",
        RULE,
        "Read:       517",
        "Stored:     516 new messages, 311 of them distinct mails",
        "Duplicates: 1 were here already",
        "Skipped:    0",
        "Inboxes:    3",
        "Time: #",
        RULE,
        "Mailboxes:",
        "  marcus.hale@kestrelplains.example    219 mails",
        "  dana.okafor@kestrelplains.example    137 mails",
        "  ruth.whitlock@kestrelplains.example  101 mails",
        `Next: node ${BIN} search marcus.hale@kestrelplains.example WORDS`,
        "",
      ].join("\n"),
    );
    const again = boxLines((await artE(`import -c ${MAIL}`)).stdout);
    expect(again).toMatchObject({
      Read: "517",
      Stored: "0 new messages, 0 of them distinct mails",
      Duplicates: "517 were here already",
    });
  });

  it.concurrent("with --json writes one document and nothing else", async ({ expect }) => {
    const { code, stdout, stderr } = await artE(`import ${MAIL} --db json.db --json`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({
      db: "json.db",
      format: "maildir",
      read: 517,
      stored: 516,
      distinct: 311,
      duplicates: 1,
      renamed: 0,
      skipped: { mails: 0, reasons: {}, first: [] },
      skippedFile: null,
      dropped: null,
      inboxes: 3,
      mailboxes: [
        { address: MARCUS, mails: 219 },
        { address: "dana.okafor@kestrelplains.example", mails: 137 },
        { address: "ruth.whitlock@kestrelplains.example", mails: 101 },
      ],
      unresolvedOwners: 0,
      seconds: expect.any(Number),
    });
  });

  it.concurrent("takes the file of ART_E_DB, and --db before it", async ({ expect }) => {
    const variables = { ART_E_DB: "by-variable.db" };
    const named = await artE(`import ${MAIL} -l 1 --json --db by-flag.db`, variables);
    const not = await artE(`import ${MAIL} -l 1 --json`, variables);
    expect([named, not].map(({ stdout }) => JSON.parse(stdout).db)).toEqual(["by-flag.db", "by-variable.db"]);
    expect(read("by-variable.db")).toMatch(/^SQLite format 3/);
  });

  it.concurrent("reads no more than --limit mails, whatever the batch", async ({ expect }) => {
    const { stdout } = await artE(`import ${MAIL} --db limit.db -l 20 -b 7 --json`);
    expect(JSON.parse(stdout)).toMatchObject({ read: 20 });
  });

  it.concurrent("with --filter art says what each rule dropped", async ({ expect }) => {
    const { stdout } = await artE(`import ${MAIL} --db art.db --filter art`);
    expect(boxLines(stdout)["Dropped by ART's rules"]).toMatch(
      /^[1-9]\d* with a body over 5,000 characters, [1-9]\d* with over 30 recipients, [1-9]\d* repeats$/,
    );
  });

  it.concurrent("takes an owner's address from --owner-map", async ({ expect }) => {
    write("owners.tsv", "hale-m\tMarcus.Hale@elsewhere.example\n");
    await artE(`import ${MAIL} --db owners.db --owner-map owners.tsv`);
    const search = "--db owners.db gas -l 1 --json";
    const { stdout } = await artE(`search marcus.hale@elsewhere.example ${search}`);
    expect(JSON.parse(stdout).emails).toHaveLength(1);
  });

  it.concurrent("names the mails it skipped, and their control characters do no harm", async ({ expect }) => {
    const files = {
      "1.": "From: a@example.com\nTo: b@example.com\nSubject: one\n\nhello\n",
      "\u001b[2J2.": "no mail\n",
    };
    mkdirSync(path("mixed/doe-j/inbox"), { recursive: true });
    for (const [name, text] of Object.entries(files)) write(`mixed/doe-j/inbox/${name}`, text);
    const { code, stdout } = await artE("import mixed --db mixed.db");
    expect(code).toBe(0);
    expect(boxLines(stdout).Skipped).toMatch(/^1: 1 because it has no mail header/);
    expect(stdout).toMatch(/^skipped .*doe-j\/inbox\/␛\[2J2\.: it has no mail header/m);
    expect(stdout).not.toContain("\u001b");
    expect(stdout).toMatch(/^All skipped mails: mixed\.db\.skipped\.tsv$/m);
    expect(read("mixed.db.skipped.tsv")).toMatch(/^\S+doe-j\/inbox\/\S+\tit has no mail header .*\n$/);
  });

  it.concurrent("fails where every mail had to be skipped, and with --strict at the first of them", async ({
    expect,
  }) => {
    mkdirSync(path("bad/doe-j/inbox"), { recursive: true });
    write("bad/doe-j/inbox/1.", "no mail\n");
    const { code, stdout } = await artE("import bad --db bad.db --format maildir --json");
    expect(code).toBe(1);
    const first = [{ where: expect.stringContaining("doe-j/inbox/1."), reason: expect.any(String) }];
    expect(JSON.parse(stdout)).toMatchObject({ read: 1, stored: 0, skipped: { mails: 1, first } });

    const strict = await artE("import bad --db strict.db --format maildir --strict");
    expect(strict).toMatchObject({ code: 1, stdout: "" });
    expect(strict.stderr).toMatch(/^art-e: .*doe-j\/inbox\/1\.: it has no mail header.*\n {7}Nothing was imported\./);
    expect(() => read("strict.db")).toThrow("ENOENT");
  });

  it.concurrent.each([["a file that is no mail", "odd.bin", "odd.bin is not mail in a form that can be read"]])(
    "refuses %s, and makes no database",
    async (_, source, message) => {
      write("odd.bin", Buffer.from([0, 1, 2, 3]));
      const { code, stdout, stderr } = await artE(`import ${source} --db ${source}.db`);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(`art-e: ${message}`);
      expect(() => read(`${source}.db`)).toThrow("ENOENT");
    },
  );
});

it("imports many mails of several parts without a word about it", async () => {
  const part = "--b\nContent-Type: text/plain\n\nhello\n--b\nContent-Type: text/csv\n\n1,2\n--b--\n";
  const head = "From: a@x.example\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b";
  mkdirSync(path("parts"));
  for (let i = 0; i < 12; i++) write(`parts/${i}.eml`, `${head}\nMessage-ID: <${i}@x.example>\n\n${part}`);
  const { code, stdout, stderr } = await artE("import parts --db parts.db --json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({ read: 12, stored: 12 });
});

describe("import without a source", () => {
  const COMMIT = "0123456789abcdef0123456789abcdef01234567";

  /** The dataset of the mail on a hub of its own, in so many shards, each with all of it. */
  async function mailHub(count = 1) {
    const shards = Array.from({ length: count }, (_, i) => `data/train-0000${i}-of-0000${count}.parquet`);
    const file = path(`shard/${shards[0]}`);
    mkdirSync(dirname(file), { recursive: true });
    writeParquet(file, expectedMails());
    const bytes = readFileSync(file);
    const oid = createHash("sha256").update(bytes).digest("hex");
    return startHub((request, response) => {
      const url = request.url ?? "";
      if (url === "/api/datasets/corbt/enron-emails/revision/main") sendJson(response, { sha: COMMIT });
      else if (url === `/api/datasets/corbt/enron-emails/tree/${COMMIT}/data`) {
        sendJson(
          response,
          shards.map((shard) => ({ type: "file", path: shard, size: bytes.length, lfs: { oid } })),
        );
      } else if (shards.some((shard) => url.endsWith(shard))) sendFile(request, response, bytes);
      else response.writeHead(404).end();
    });
  }

  it("downloads the mail from HF_ENDPOINT with HF_TOKEN, once, into --cache-dir", async () => {
    await using hub = await mailHub();
    const variables = { HF_ENDPOINT: hub.endpoint, HF_TOKEN: "hf_test" };
    const first = await artE("import --db hub.db --cache-dir cache --json", variables);
    expect(first.code).toBe(0);
    expect(first.stderr).toMatch(/^Taking corbt\/enron-emails .* into cache;/);
    expect(JSON.parse(first.stdout)).toMatchObject({
      format: "parquet",
      read: expectedMails().length,
      skippedFile: null,
    });
    expect(hub.seen).toHaveLength(3);
    expect(hub.seen[0]?.headers.authorization).toBe("Bearer hf_test");

    const again = await artE("import --db hub.db --cache-dir cache --json --quiet", variables);
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(again.stdout)).toMatchObject({ stored: 0, duplicates: expectedMails().length });
    expect(hub.seen).toHaveLength(3);
  });

  it("with a limit downloads the files that it needs only, and the others when they are needed", async () => {
    await using hub = await mailHub(3);
    const variables = { HF_ENDPOINT: hub.endpoint };
    const taken = () => hub.seen.flatMap((request) => /train-0000(\d)/.exec(request.path)?.[1] ?? []);
    const each = expectedMails().length;
    const few = await artE(`import -l ${each} --db few.db --cache-dir few --json`, variables);
    expect(JSON.parse(few.stdout)).toMatchObject({ read: each });
    expect(taken()).toEqual(["0"]);
    await artE(`import -l ${each + 1} --db few.db --cache-dir few --json`, variables);
    expect(taken()).toEqual(["0", "1"]);
    expect(JSON.parse((await artE("import --db few.db --cache-dir few --json", variables)).stdout).read).toBe(3 * each);
    expect(taken()).toEqual(["0", "1", "2"]);
  });

  it("that cannot be downloaded fails, with what to do by hand", async () => {
    await using hub = await startHub((_, response) => response.writeHead(404).end());
    const { code, stdout, stderr } = await artE("import --db none.db --quiet", { HF_ENDPOINT: hub.endpoint });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^art-e: could not download .*404.*\n {7}.*art-e import FOLDER --db none\.db\n$/);
  });
});

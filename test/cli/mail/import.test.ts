import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { gzipSync } from "node:zlib";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { MimeDecoder } from "../../../src/mail/mime/mime-decoder.js";
import { decodeParts, setPartsDecoder } from "../../../src/mail/mime/parse-email.js";
import { openStore } from "../../../src/store/open-store.js";
import { expectedMails, writeParquet } from "../../mail/corpus-fixtures.js";
import { importFrom } from "../../mail/import-setup.js";
import { runLengthParquet } from "../../mail/run-length-parquet.js";
import { sendFile, sendJson, startHub } from "../../platform/hub-server.js";
import { BIN, boxLines, demoQuestion, MAIL, MARCUS, workFolder } from "../art-e.js";

describe("importing mail", () => {
  const { artE, path, read, write } = workFolder();
  const RULE = "═".repeat(60);

  describe("art-e import", () => {
    it("reports the emails read and stored in a box, and says if all of them were already stored", async () => {
      const first = await artE(`import ${MAIL}`);
      expect(first).toMatchObject({ code: 0, stderr: "" });
      expect(first.stdout.replace(/Time: .+/, "Time: #")).toBe(
        [
          RULE,
          "ART-E Import (maildir into ./art-e.db)",
          RULE,
          "Read:       517",
          "Forms:      maildir 517",
          "Stored:     516 new messages (311 distinct emails)",
          "Duplicates: 1 already existed",
          "Skipped:    0",
          "Mailboxes:  3",
          "Time: #",
          RULE,
          "Largest mailboxes:",
          "  marcus.hale@kestrelplains.example    219 emails  (sender of the sent mail)",
          "  dana.okafor@kestrelplains.example    137 emails  (sender of the sent mail)",
          "  ruth.whitlock@kestrelplains.example  101 emails  (sender of the sent mail)",
          "Next: art-e search marcus.hale@kestrelplains.example WORDS",
          "",
        ].join("\n"),
      );
      const again = boxLines((await artE(`import -c ${MAIL}`)).stdout);
      expect(again).toMatchObject({
        Read: "517",
        Stored: "0 new messages (0 distinct emails)",
        Duplicates: "517 already existed",
      });
    });

    it("prints only skipped mail with --quiet", async () => {
      expect(await artE(`import ${MAIL} --db quiet.db --quiet`)).toEqual({ code: 0, stdout: "", stderr: "" });
      mkdirSync(path("some"));
      write("some/1.eml", "From: ann@x.example\nTo: ben@x.example\n\nPlums");
      write("some/2.eml", "Plums");
      const { code, stdout, stderr } = await artE("import some --db quiet.db --quiet");
      expect({ code, stderr, lines: stdout.split("\n") }).toEqual({
        code: 0,
        stderr: "",
        lines: [
          "skipped some/2.eml: it does not have an email header (Message-ID, Date, From, To or Subject)",
          "All skipped emails: quiet.db.skipped.tsv",
          "",
        ],
      });
    });

    it("lists mailboxes that other commands know if no owner is known", async () => {
      mkdirSync(path("saved"));
      write("saved/1.eml", "From: ann@x.example\nTo: ben@x.example\nSubject: Plums\n\nPlums");
      const { stdout } = await artE("import saved --db saved.db");
      expect(boxLines(stdout)).toMatchObject({ Mailboxes: "2" });
      expect(stdout).toContain("Largest mailboxes:\n  ann@x.example  1 email\n  ben@x.example  1 email\n");
      const estimate = await artE("questions make -o made.jsonl --db saved.db --dry-run --json");
      expect(JSON.parse(estimate.stdout)).toMatchObject({ mailboxes: 2 });
      const one = await artE("questions make -o made.jsonl --db saved.db --inbox ben@x.example --dry-run --json");
      expect(JSON.parse(one.stdout)).toMatchObject({ mailboxes: 1 });
    });

    it("writes only one document with --json, and uses --db instead of ART_E_DB", async () => {
      const { code, stdout, stderr } = await artE(`import ${MAIL} --db json.db --json`, { ART_E_DB: "by-variable.db" });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(JSON.parse(stdout)).toEqual({
        db: "json.db",
        format: "maildir",
        read: 517,
        forms: { maildir: 517 },
        stored: 516,
        distinct: 311,
        duplicates: 1,
        renamed: 0,
        skipped: { mails: 0, reasons: {}, first: [] },
        damaged: { mails: 0, first: [] },
        skippedFile: null,
        dropped: null,
        inboxes: 3,
        mailboxes: [
          { address: MARCUS, mails: 219, basis: "sent" },
          { address: "dana.okafor@kestrelplains.example", mails: 137, basis: "sent" },
          { address: "ruth.whitlock@kestrelplains.example", mails: 101, basis: "sent" },
        ],
        unresolvedOwners: 0,
        tables: [],
        seconds: expect.any(Number),
      });
    });

    it("uses the file in ART_E_DB, and reads at most --limit emails for any batch size", async () => {
      const { stdout } = await artE(`import ${MAIL} -l 20 -b 7 --json`, { ART_E_DB: "by-variable.db" });
      expect(JSON.parse(stdout)).toMatchObject({ db: "by-variable.db", read: 20 });
      expect(read("by-variable.db")).toMatch(/^SQLite format 3/);
    });

    it("reports how many emails each rule of --filter art dropped, and takes an owner's address from --owner-map", async () => {
      write("owners.tsv", "hale-m\tMarcus.Hale@elsewhere.example\n");
      const { stdout } = await artE(`import ${MAIL} --db art.db --filter art --owner-map owners.tsv`);
      expect(boxLines(stdout)["Dropped by ART's rules"]).toMatch(
        /^[1-9]\d* with a body over 5,000 characters, [1-9]\d* with over 30 recipients, [1-9]\d* repeats$/,
      );
      const found = await artE("search marcus.hale@elsewhere.example --db art.db gas -l 1 --json");
      expect(JSON.parse(found.stdout).emails).toHaveLength(1);
    });

    it("names skipped emails with their control characters escaped", async () => {
      const files = {
        "1.": "From: a@example.com\nTo: b@example.com\nSubject: one\n\nhello\n",
        "\u001b[2J2.": "no mail\n",
      };
      mkdirSync(path("mixed/doe-j/inbox"), { recursive: true });
      for (const [name, text] of Object.entries(files)) write(`mixed/doe-j/inbox/${name}`, text);
      const { code, stdout } = await artE("import mixed --db mixed.db");
      expect(code).toBe(0);
      expect(boxLines(stdout).Skipped).toMatch(/^1: 1 because it does not have an email header/);
      expect(stdout).toMatch(/^skipped .*doe-j\/inbox\/␛\[2J2\.: it does not have an email header/m);
      expect(stdout).not.toContain("\u001b");
      expect(stdout).toMatch(/^All skipped emails: mixed\.db\.skipped\.tsv$/m);
      expect(read("mixed.db.skipped.tsv")).toMatch(/^\S+doe-j\/inbox\/\S+\tit does not have an email header .*\n$/);
    });

    it("counts and names emails with a damaged winmail.dat, also in a zip archive", async () => {
      mkdirSync(path("outlook"));
      const value = Buffer.from("plums\0");
      // A signature, a key, and one attribute with a wrong checksum, as in [MS-OXTNEF] 2.1.
      const tnef = Buffer.concat([Buffer.from("789f3e220100010c80060006000000", "hex"), value, Buffer.of(1, 0)]);
      write(
        "outlook/1.eml",
        `From: a@plains.example\nSubject: x\nContent-Type: application/ms-tnef; name="winmail.dat"\nContent-Transfer-Encoding: base64\n\n${tnef.toString("base64")}\n`,
      );
      execFileSync("python3", ["-m", "zipfile", "-c", path("outlook.zip"), path("outlook/1.eml")]);
      for (const source of ["outlook", "outlook.zip"]) {
        const { code, stdout } = await artE(`import ${source} --db ${source}.db`);
        expect(code).toBe(0);
        expect(boxLines(stdout)).toMatchObject({
          Skipped: "0",
          Damaged: "1 with a damaged winmail.dat, imported without what it lost",
        });
        expect(stdout).toMatch(/^damaged .*1\.eml: its winmail\.dat$/m);
      }
    });

    it("fails if every email was skipped, and with --strict at the first skipped email", async () => {
      mkdirSync(path("bad/doe-j/inbox"), { recursive: true });
      write("bad/doe-j/inbox/1.", "no mail\n");
      const { code, stdout } = await artE("import bad --db bad.db --format maildir --json");
      expect(code).toBe(1);
      const first = [{ where: expect.stringContaining("doe-j/inbox/1."), reason: expect.any(String) }];
      expect(JSON.parse(stdout)).toMatchObject({ read: 1, stored: 0, skipped: { mails: 1, first } });

      const strict = await artE("import bad --db strict.db --format maildir --strict");
      expect(strict).toMatchObject({ code: 1, stdout: "" });
      expect(strict.stderr).toMatch(
        /^art-e: .*doe-j\/inbox\/1\.: it does not have an email header.*\n {7}Nothing was imported\./,
      );
      expect(() => read("strict.db")).toThrow("ENOENT");
    });

    it.each([["a file without mail", "odd.bin", "odd.bin is not mail in a supported format"]])(
      "rejects %s, and does not create a database",
      async (_, source, message) => {
        write("odd.bin", Buffer.from([0, 1, 2, 3]));
        const { code, stdout, stderr } = await artE(`import ${source} --db ${source}.db`);
        expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
        expect(stderr).toContain(`art-e: ${message}`);
        expect(() => read(`${source}.db`)).toThrow("ENOENT");
      },
    );
  });

  it("imports many multipart emails, and prints no warning", async () => {
    const part = "--b\nContent-Type: text/plain\n\nhello\n--b\nContent-Type: text/csv\n\n1,2\n--b--\n";
    const head = "From: a@x.example\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b";
    mkdirSync(path("parts"));
    for (let i = 0; i < 12; i++) write(`parts/${i}.eml`, `${head}\nMessage-ID: <${i}@x.example>\n\n${part}`);
    const { code, stdout, stderr } = await artE("import parts --db parts.db --json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ read: 12, stored: 12 });
  });

  describe("art-e import of the published mail", () => {
    const COMMIT = "0123456789abcdef0123456789abcdef01234567";

    /** A separate hub with the mail dataset in N shards, each with all emails. */
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

    it("downloads the mail from HF_ENDPOINT with HF_TOKEN once, into --cache-dir", async () => {
      await using hub = await mailHub();
      const variables = { HF_ENDPOINT: hub.endpoint, HF_TOKEN: "hf_test" };
      const first = await artE("import --db hub.db --cache-dir cache --json", variables);
      expect(first.code).toBe(0);
      expect(first.stderr).toMatch(/^Downloading corbt\/enron-emails .* to cache\./);
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

    it("downloads only the needed files if there is a limit, and the others later", async () => {
      await using hub = await mailHub(3);
      const variables = { HF_ENDPOINT: hub.endpoint };
      const taken = () => hub.seen.flatMap((request) => /train-0000(\d)/.exec(request.path)?.[1] ?? []);
      const each = expectedMails().length;
      const few = await artE(`import -l ${each} --db few.db --cache-dir few --json`, variables);
      expect(JSON.parse(few.stdout)).toMatchObject({ read: each });
      expect(taken()).toEqual(["0"]);
      await artE(`import -l ${each + 1} --db few.db --cache-dir few --json`, variables);
      expect(taken()).toEqual(["0", "1"]);
      expect(JSON.parse((await artE("import --db few.db --cache-dir few --json", variables)).stdout).read).toBe(
        3 * each,
      );
      expect(taken()).toEqual(["0", "1", "2"]);
    });

    it("fails if the download fails, and explains how to download the mail manually", async () => {
      await using hub = await startHub((_, response) => response.writeHead(404).end());
      const { code, stdout, stderr } = await artE("import --db none.db --quiet", { HF_ENDPOINT: hub.endpoint });
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^art-e: Cannot download .*404.*\n {7}.*art-e import FOLDER --db none\.db\n$/);
    });
  });
});

describe("art-e import of saved mail", () => {
  /** Mail as people usually have it: saved emails, zipped archives, several at the same time. */

  const { artE, write } = workFolder();

  const mail = (id: string, body: string, header = "") =>
    `From: ida@brook.example\nTo: me@my.example\nDate: Mon, 02 Feb 2026 09:15:00 +0100\nSubject: ${id}\nMessage-ID: <${id}@x>\n${header}\n${body}\n`;

  const mbox = (...mails: string[]) => mails.map((text) => `From ida Mon Feb  2 09:15:00 2026\n${text}\n`).join("");

  const WITH_ATTACHMENT = mail(
    "report",
    [
      "--b",
      "Content-Type: text/plain",
      "",
      "See the figures.",
      "--b",
      'Content-Type: text/csv; name="harvest.csv"',
      'Content-Disposition: attachment; filename="harvest.csv"',
      "",
      "plum,quince",
      "--b",
      "Content-Type: message/rfc822",
      "Content-Disposition: attachment",
      "",
      mail("inner", "The medlar is ripe."),
      "--b--",
    ].join("\n"),
    "Content-Type: multipart/mixed; boundary=b\n",
  );

  it("imports one saved email, so that its attachments and forwarded emails can be found and read", async () => {
    write("report.eml", WITH_ATTACHMENT);
    const imported = await artE("import report.eml --db eml.db --json");
    expect(JSON.parse(imported.stdout)).toMatchObject({ format: "eml", read: 1, stored: 1, skipped: { mails: 0 } });
    for (const words of ["harvest.csv", "quince", "medlar", "Attachments"]) {
      const { stdout } = await artE(["search", "me@my.example", words, "--db", "eml.db", "--order", "newest"]);
      expect([words, stdout]).toEqual([words, expect.stringContaining("<report@x>")]);
    }
    const { stdout } = await artE(["show", "<report@x>", "--db", "eml.db"]);
    expect(stdout).toContain("- harvest.csv (text/csv, 11 bytes)");
    expect(stdout).toContain("----- Forwarded mail: inner -----");
  });

  it("imports a zipped mbox like the mbox itself, and uses its name as the owner", async () => {
    write("me.mbox", mbox(mail("1", "one"), mail("2", "two")));
    write("me.mbox.gz", gzipSync(mbox(mail("1", "one"), mail("2", "two"))));
    const plain = JSON.parse((await artE("import me.mbox --db plain.db --json")).stdout);
    const zipped = JSON.parse((await artE("import me.mbox.gz --db zipped.db --json")).stdout);
    expect({ ...zipped, db: "", seconds: 0 }).toEqual({ ...plain, db: "", seconds: 0 });
    expect(zipped).toMatchObject({ format: "mbox", stored: 2, inboxes: 1 });
    const again = JSON.parse((await artE("import me.mbox.gz --db plain.db --json")).stdout);
    expect(again).toMatchObject({ stored: 0, duplicates: 2 });
  });

  it("imports several sources of different formats together", async () => {
    write("a.mbox", mbox(mail("1", "one")));
    write("b.mbox.gz", gzipSync(mbox(mail("2", "two"), mail("1", "one"))));
    write("c.eml", mail("3", "three"));
    const imported = await artE("import a.mbox b.mbox.gz c.eml --db several.db");
    expect(imported.code).toBe(0);
    expect(imported.stdout).toContain("ART-E Import (mbox, eml into several.db)");
    expect(boxLines(imported.stdout)).toMatchObject({
      Read: "4",
      Stored: "3 new messages (3 distinct emails)",
      Duplicates: "1 already existed",
    });
    const limited = await artE("import a.mbox b.mbox.gz c.eml --db limited.db --limit 2 --json");
    expect(JSON.parse(limited.stdout)).toMatchObject({ read: 2, stored: 2 });
  });

  it.each(["--local", "-d abc", "--database-id abc"])(
    "reports that %s of the script for D1 is not needed",
    async (flag) => {
      const { code, stderr } = await artE(`import ${flag} --db none.db`);
      expect(code).toBe(2);
      expect(stderr).toContain("Remove it. The mail is always imported into a file on this machine: --db FILE.");
    },
  );

  it("leaves the database unchanged if one of several sources is unreadable", async () => {
    write("good.eml", mail("good", "good"));
    write("bad.bin", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 0]));
    const { code, stderr } = await artE("import good.eml bad.bin --db none.db");
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("bad.bin is not mail in a supported format"),
    });
    const missing = await artE("import good.eml not-there --db none.db");
    expect(missing.stderr).toContain("not-there does not exist");
    expect((await artE("search me@my.example good --db none.db")).stderr).toContain(
      `Cannot open the database none.db: the file does not exist.`,
    );
    const two = await artE("import good.eml --csv-path bad.bin --db none.db");
    expect({ code: two.code, stderr: two.stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("SOURCE (good.eml) and --csv-path (bad.bin) differ."),
    });
  });
});

describe("the user's own mail", () => {
  const { artE, write, path } = workFolder();

  interface Mail {
    readonly id: string;
    readonly from: string;
    readonly to: string;
    readonly date: string;
    readonly subject: string;
    readonly body: string;
  }

  /**
   * A person's own mail as a mail program exports it: received, sent, from a list, and a note that quotes a `From `
   * line.
   */
  const MAILS: readonly Mail[] = [
    {
      id: "<1@post.example>",
      from: "Ida Brook <ida@brook.example>",
      to: "me@my.example",
      date: "Mon, 02 Feb 2026 09:15:00 +0100",
      subject: "Key for the boat house",
      body: "Hello,\nthe key for the boat house hangs behind the green fuse box in the cellar.\nIda",
    },
    {
      id: "<2@my.example>",
      from: "me@my.example",
      to: "Piet Maas <piet@maas.example>",
      date: "Tue, 03 Feb 2026 18:00:00 +0100",
      subject: "Bicycle",
      body: "Piet, I sold the red bicycle to Ottilie for 140 euros on Sunday.\n>From now on I take the tram.",
    },
    {
      id: "<3@list.example>",
      from: "treasurer@rowing.example",
      to: "members@rowing.example",
      date: "Wed, 04 Feb 2026 12:00:00 +0000",
      subject: "Membership fee",
      body: "Dear members, the fee for this season is 85 euros and is due by 15 March.",
    },
    {
      id: "<4@post.example>",
      from: "ida@brook.example",
      to: "me@my.example, piet@maas.example",
      date: "Thu, 05 Feb 2026 08:00:00 +0100",
      subject: "Sunday",
      body: "We meet at the landing stage at half past nine, with sandwiches.",
    },
  ];

  function mbox(mails: readonly Mail[]): string {
    return mails
      .map(
        ({ id, from, to, date, subject, body }) =>
          `From - Thu Jan  1 00:00:00 2026\nMessage-ID: ${id}\nFrom: ${from}\nTo: ${to}\nDate: ${date}\nSubject: ${subject}\n\n${body}\n\n`,
      )
      .join("");
  }

  it("comes from an mbox, and a search finds it whether received, sent or from a mailing list", async () => {
    write("my.mbox", mbox(MAILS));
    expect((await artE("import my.mbox --quiet")).code).toBe(0);
    const answers: unknown[] = [];
    for (const question of [
      "Where does the key for the boat house hang?",
      "To whom did I sell the red bicycle?",
      "How much is the membership fee this season?",
      "When do we meet at the landing stage?",
    ]) {
      const { stdout } = await artE(["ask", "me@my.example", question, "--json", "--quiet"]);
      const { answer, sources } = JSON.parse(stdout);
      answers.push([sources[0]?.messageId, answer]);
    }
    expect(answers).toEqual([
      ["<1@post.example>", expect.stringContaining("green fuse box")],
      ["<2@my.example>", expect.stringContaining("Ottilie")],
      ["<3@list.example>", expect.stringContaining("85 euros")],
      ["<4@post.example>", expect.stringContaining("half past nine")],
    ]);
  });

  it("contains only the correspondence with an address if that address is queried", async () => {
    const ask = async (question: string) =>
      JSON.parse((await artE(["ask", "piet@maas.example", question, "--json", "--quiet"])).stdout);
    expect((await ask("Who has the red bicycle?")).sources[0]?.messageId).toBe("<2@my.example>");
    expect((await ask("Where does the key for the boat house hang?")).sources[0]?.messageId).not.toBe(
      "<1@post.example>",
    );
  });

  it("causes an error for an unknown address, with similar addresses as suggestions", async () => {
    const { code, stderr } = await artE(["ask", "mine@my.example", "What?"]);
    expect(code).toBe(2);
    expect(stderr).toContain("Similar addresses: me@my.example.");
  });

  it("appears in the same mailbox to any MCP client", async () => {
    const client = new Client({ name: "test", version: "1" });
    // The owner's mailbox is the only one, so nobody has to name it.
    const args = [BIN, "mcp", "--db", path("art-e.db")];
    await client.connect(new StdioClientTransport({ command: process.execPath, args }));
    const { resources } = await client.listResources();
    expect(resources.map(({ name }) => name)).toEqual([
      "Sunday",
      "Membership fee",
      "Bicycle",
      "Key for the boat house",
    ]);
    await client.close();
  });
});

describe("importing hostile emails", () => {
  const { artE, path, read, write } = workFolder();

  const mail = (id: string, headers: string, body: string) =>
    `Message-ID: <${id}@x.example>\nFrom: a@x.example\nTo: b@x.example\nSubject: ${id}\n${headers}\n${body}\n`;

  /** Repetitions that blocked an import, from half a minute to forever. */
  const HOSTILE: Readonly<Record<string, string>> = {
    "date.": mail("date", `Date: Mon${" ".repeat(1_000_000)}x\n`, "body"),
    "date-dashes.": mail("date-dashes", `Date: 1 ${"- ".repeat(500_000)}Jan\n`, "body"),
    "ats.": mail("ats", `Date: Mon, 5 Mar 2001 10:00:00 -0800\nCc: ${"@".repeat(1_000_000)}\n`, "@".repeat(1_000_000)),
    "groups.": mail("groups", `Cc: ${"a:".repeat(500_000)} last@x.example,\n`, "body"),
    "brackets.": mail("brackets", `Cc: <${" ".repeat(1_000_000)}>${"'>".repeat(500_000)}x\n`, "body"),
    "blank.": mail("blank", "", `${" \n".repeat(500_000)}body${" ".repeat(1_000_000)}.`),
    "words.": mail("words", `X-To: ${"=?utf-8?q?".repeat(100_000)}\n`, "=?".repeat(500_000)),
  };

  /** The HTML parser takes quadratic time for open tags: about 24 s for these. */
  const OPEN_TAGS = mail("tags", "Content-Type: text/html\n", "<b>".repeat(300_000));

  describe("with one slow email", () => {
    it("accepts an email that repeats anything in its headers and body", { timeout: 60_000 }, async () => {
      mkdirSync(path("inbox/own-o/inbox"), { recursive: true });
      for (const [name, text] of Object.entries(HOSTILE)) write(`inbox/own-o/inbox/${name}`, text);
      const { code, stdout } = await artE("import inbox --db slow.db --json");
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ stored: 7, skipped: { mails: 0 } });
      // The baseline reads the email as well as the search does.
      const found = await artE("search b@x.example body --db slow.db --json");
      expect(found.code).toBe(0);
      const asked = [
        "ask",
        "b@x.example",
        "What is the e-mail address?",
        "-a",
        "baseline",
        "--db",
        "slow.db",
        "--json",
      ];
      expect(await artE(asked)).toMatchObject({ code: 0 });
    });

    const TOO_LONG = "counts a body as unreadable, and names it, if its parser takes too long";
    beforeAll(() => {
      mkdirSync(path("html/own-o/inbox"), { recursive: true });
      write("html/own-o/inbox/1.", mail("before", "Content-Type: text/html\n", "<p>Before</p>"));
      write("html/own-o/inbox/2.", OPEN_TAGS);
      write("html/own-o/inbox/3.", mail("behind", "Content-Type: text/html\n", "<p>Caf&eacute;</p>"));
    });

    it(`${TOO_LONG}, but imports the neighboring emails`, async () => {
      // The parser gets one more second per megabyte, so only the large email's timeout is shortened.
      const { setTimeout: wait } = globalThis;
      const shorter = (run: () => void, ms?: number) => wait(run, ms !== undefined && ms > 5_300 ? 100 : ms);
      vi.spyOn(globalThis, "setTimeout").mockImplementation(shorter as typeof setTimeout);
      const mime = new MimeDecoder();
      setPartsDecoder((raw) => mime.decode(raw));
      const db = openStore(path("parsed.db"), { mustExist: false });
      try {
        const { summary, skipped } = await importFrom(db, path("html"));
        expect(summary).toMatchObject({ stored: 2, skipped: { mails: 1 } });
        expect(skipped).toEqual([
          { where: expect.stringMatching(/own-o\/inbox\/2\.$/), reason: "it takes more than 6 s to parse" },
        ]);
        const bodies = db.prepare("SELECT body FROM emails ORDER BY message_id").pluck().all();
        expect(bodies).toEqual(["Before", "Café"]);
      } finally {
        vi.restoreAllMocks();
        setPartsDecoder(decodeParts);
        await mime.close();
        db.close();
      }
    });

    it(TOO_LONG, { timeout: 90_000, tags: ["slow"] }, async () => {
      const { code, stdout } = await artE("import html --db html.db --json");
      expect(code).toBe(0);
      const told = JSON.parse(stdout);
      expect(told).toMatchObject({
        stored: 2,
        skipped: { mails: 1, reasons: { "it takes more than 6 s to parse": 1 } },
      });
      expect(told.skipped.first[0].where).toMatch(/own-o\/inbox\/2\.$/);
      expect(read("html.db.skipped.tsv")).toMatch(/own-o\/inbox\/2\.\tit takes more than 6 s to parse\n/);
      const found = JSON.parse((await artE("show <behind@x.example> --db html.db --json")).stdout);
      expect(JSON.stringify(found)).toContain("Café");
    });
  });
});

describe("a hostile Parquet file", () => {
  const { artE, write } = workFolder({ mail: MAIL });
  const MAIL_COLUMNS = "message_id subject from to cc bcc date body".split(" ");
  const QUESTION_COLUMNS = Object.keys(demoQuestion(1));
  const MANY = 100_000_000;

  it.each([
    ["import many.parquet --db many.db", MAIL_COLUMNS, MANY, "it claims 100,000,000 rows in"],
    ["import lying.parquet --db lying.db", MAIL_COLUMNS, 10, "has 100,000,000 values"],
    ["stats --dataset many.parquet", QUESTION_COLUMNS, MANY, "it claims 100,000,000 rows in"],
    ["stats --dataset lying.parquet", QUESTION_COLUMNS, 10, "has 100,000,000 values"],
    ["stats --dataset none.parquet", ["other"], MANY, "it claims 100,000,000 rows in"],
  ])(
    "causes an error if a few hundred bytes encode a hundred million rows, with the count (%s)",
    async (line, columns, rows, why) => {
      const file = line.match(/\w+\.parquet/)?.[0] ?? "";
      const bytes = runLengthParquet({ columns, rows, values: MANY });
      expect(bytes.length).toBeLessThan(1_000);
      write(file, bytes);
      const { code, stdout, stderr } = await artE(line);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(why);
      expect(stderr.trimEnd().split("\n")).toHaveLength(2);
    },
  );
});

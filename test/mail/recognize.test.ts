import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { parquetWriteFile } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { openCorpus } from "../../src/mail/import/corpus-formats.js";
import { parseTableDate } from "../../src/mail/mime/mail-date.js";
import { csv, readAll, temporaryFolder } from "./corpus-fixtures.js";
import { importFolder, importFrom } from "./import-setup.js";

/** Which files are mail, tables and mailboxes, based on their content, name and place. */

const base = await temporaryFolder();
let folders = 0;

function folderOf(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = join(base, String(folders++));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

async function read(name: string, content: string | Buffer) {
  const result = await readAll(await openCorpus(join(folderOf({ [name]: content }), name), null));
  expect(result.error).toBeNull();
  return result;
}

const email = (n: number) =>
  `From: Lea <lea@x.example>\nTo: tom@x.example\nDate: Sat, 4 Mar 2006 08:15:00 +0000\nMessage-ID: <${n}@x>\nSubject: Note ${n}\n\nPlums ${n}.\n`;
const ROW = ["2006-03-04 08:15:00", "lea@x.example", "tom@x.example", "Note 1", "Plums."];
const { emptyDb } = importFolder();

describe("a table", () => {
  const raw = csv([
    ["Unnamed: 0", "file", "message"],
    ["0", "lea/in/1.", email(1)],
    ["1", "lea/in/2.", email(2)],
  ]);
  const parsed = (names: readonly string[]) => csv([names, ["0", "<1@x>", ...ROW], ["1", "<2@x>", ...ROW]]);

  it.each<[string, string, string | Buffer]>([
    ["that pandas wrote", "emails.csv", raw],
    ["that pandas wrote, if gzipped", "emails.csv.gz", gzipSync(raw)],
    ["with columns", "emails.csv", parsed(["Unnamed: 0.1", "Message-ID", "Date", "From", "To", "Subject", "Body"])],
    [
      "with names that end in a colon",
      "m.csv",
      csv([["Date:", "From:", "To:", "Subject:", "Body:"], ROW, ROW.map((cell) => `${cell} `)]),
    ],
    [
      "separated by tabs",
      "emails.tsv",
      parsed(["Unnamed: 0", "Message-ID", "Date", "From", "To", "Subject", "Body"]).replaceAll('","', '"\t"'),
    ],
  ])("does not become one email if its first name has a colon (%s)", async (_, name, content) => {
    const { emails, bad } = await read(name, content);
    expect(emails.map(({ sender, to }) => [sender, to])).toEqual(Array(2).fill(["lea@x.example", ["tom@x.example"]]));
    expect(bad).toEqual([]);
    const inFolder = await readAll(await openCorpus(folderOf({ [name]: content }), null));
    expect(inFolder.emails).toHaveLength(2);
  });

  it("can have a format that the user gives", async () => {
    const folder = folderOf({ "1.eml": raw });
    const { emails } = await readAll(await openCorpus(join(folder, "1.eml"), "kaggle-csv"));
    expect(emails.map(({ messageId }) => messageId)).toEqual(["<1@x>", "<2@x>"]);
  });

  it.each([
    [["email_id", "email_date", "email_from", "email_to", "email_subject", "email_body"]],
    [["Message-ID", "Date", "From", "To", "Subject", "message_body"]],
    [["Message ID", "Date", "From", "To", "Subject", "Message"]],
    [["Message ID", "Date Sent", "Sender Address", "Recipient Address", "Subject", "Message Body"]],
    [["message_id", "sent_date", "sender_email", "recipient_emails", "subject_line", "body_text"]],
    [["msg_id", "sent", "from", "recipient_list", "subject", "text_body"]],
  ])("can have the columns %j", async (names) => {
    const { emails } = await read("m.csv", csv([names, ["<1@x>", ...ROW]]));
    expect(emails).toMatchObject([
      {
        messageId: "<1@x>",
        date: "2006-03-04T08:15:00Z",
        sender: "lea@x.example",
        to: ["tom@x.example"],
        subject: "Note 1",
        body: "Plums.",
      },
    ]);
  });

  it("can contain the same column twice, once empty", async () => {
    const { emails } = await read(
      "m.csv",
      csv([
        ["Message-ID", "From", "To", "To", "Body"],
        ["<1@x>", "lea@x.example", "", "tom@x.example", "Plums."],
      ]),
    );
    expect(emails.map(({ to }) => to)).toEqual([["tom@x.example"]]);
  });

  it("can have rows whose last empty cells are missing, and MySQL's marks for missing values", async () => {
    const { emails, bad } = await read(
      "m.csv",
      "Message-ID,From,To,Subject,Body,Cc,Bcc\n<1@x>,lea@x.example,\\N,Note,Plums\n<2@x>,lea@x.example,tom@x.example,Note,Plums,NULL,\\N\n<3@x>,lea@x.example\n",
    );
    expect(emails.map(({ to, cc, bcc }) => [to, cc, bcc])).toEqual([
      [[], [], []],
      [["tom@x.example"], [], []],
    ]);
    expect(bad.map(({ reason }) => reason)).toEqual(["it has 2 fields, but the header has 7"]);
  });

  it("keeps its letters in windows-1252, and the summary counts the cells", async () => {
    const text =
      "Message-ID;From;To;Subject;Body\n<1@x>;lea@x.example;tom@x.example;Gr\xfc\xdfe;Z\xfcrich \x96 5 \x80\n";
    const folder = folderOf({ "m.csv": Buffer.from(text, "latin1") });
    const { emails } = await readAll(await openCorpus(folder, null));
    expect(emails.map(({ subject, body }) => [subject, body])).toEqual([["Grüße", "Zürich – 5 €"]]);
    expect((await importFrom(emptyDb(), folder)).summary.tables).toMatchObject([{ foreignCells: 2 }]);
  });

  it("appears in the summary with the ignored columns, the missing ones, and unreadable dates", async () => {
    const names = ["Message-ID", "written", "date", "From", "Subject", "Body"];
    const content = csv([
      names,
      ["<1@x>", "today", "2006-03-04", "lea@x.example", "Note", "Plums"],
      ["<2@x>", "today", "soon", "lea@x.example", "Note", "Plums"],
    ]);
    const { summary } = await importFrom(emptyDb(), folderOf({ "m.csv": content }));
    expect(summary.tables).toEqual([
      {
        where: expect.stringMatching(/m\.csv$/),
        unread: ["written"],
        missing: ["to"],
        dates: 2,
        unreadDates: 1,
        foreignCells: 0,
      },
    ]);
  });

  it.each([
    ["14-05-2001 10:00", "2001-05-14T10:00:00Z"],
    ["05-14-2001", "2001-05-14T00:00:00Z"],
    ["14.05.01 10:00", "2001-05-14T10:00:00Z"],
    ["20010514T100000Z", "2001-05-14T10:00:00Z"],
    ["datetime.datetime(2001, 5, 14, 10, 0)", "2001-05-14T10:00:00Z"],
    ["numpy.datetime64('2001-05-14T10:00:00')", "2001-05-14T10:00:00Z"],
    ["(2001, 5, 14, 10, 0, 0)", "2001-05-14T10:00:00Z"],
    ["0001-01-01 00:00:00", null],
    ["0000-00-00 00:00:00", null],
  ])("can contain the date %j", (cell, date) => expect(parseTableDate(cell)).toBe(date));

  it("can have raw emails in a binary Parquet column, in any charset", async () => {
    const letter = (n: number, body: Buffer) =>
      Buffer.concat([
        Buffer.from(email(n).replace(/\n\n.*/s, "\nContent-Type: text/plain; charset=iso-8859-1\n\n")),
        body,
      ]);
    const file = join(folderOf({ x: "" }), "m.parquet");
    parquetWriteFile({
      filename: file,
      columnData: [
        {
          name: "raw",
          data: [letter(1, Buffer.from("Z\xfcrich", "latin1")), letter(2, Buffer.from("K\xf6ln", "latin1"))],
          type: "BYTE_ARRAY",
        },
      ],
    });
    const { emails } = await readAll(await openCorpus(file, null));
    expect(emails.map(({ body }) => body)).toEqual(["Zürich", "Köln"]);
  });
});

describe("an mbox", () => {
  const separator = "From lea Sat Mar  4 08:15:00 2006\n";
  const others = [2, 3].map((n) => `${separator}${email(n)}\n`).join("");

  it.each([
    ["missing", `${email(1)}\n${others}`],
    ["quoted", `>${separator}${email(1)}\n${others}`],
    ["truncated", ` 4 08:15:00 2006\n${email(1)}\n${others}`],
  ])("can start with the separator %s", async (_, text) => {
    for (const [name, content] of [
      ["box", text],
      ["box.gz", gzipSync(text)],
    ] as const) {
      const { emails, bad } = await read(name, content);
      expect(emails.map(({ subject, form }) => `${subject} ${form}`)).toEqual([
        "Note 1 mbox",
        "Note 2 mbox",
        "Note 3 mbox",
      ]);
      expect(bad).toEqual([]);
    }
  });

  it.each([
    ["a heading", "# archive of the list\n\n"],
    ["the end of an attachment", "QUJDREVGQUJD\n--bb--\n\n"],
    ["a record without a header", `${separator}\nno header here\n\n`],
  ])("can start after %s, which appears in the list", async (_, start) => {
    const { emails, bad } = await read("box", start + others);
    expect(emails.map(({ subject }) => subject)).toEqual(["Note 2", "Note 3"]);
    expect(bad).toHaveLength(1);
  });

  it("loses MMDF's lines of control characters", async () => {
    const line = "\x01\x01\x01\x01\n";
    const { emails, bad } = await read("box", [1, 2].map((n) => `${line}${separator}${email(n)}${line}`).join(""));
    expect(emails.map(({ body }) => body)).toEqual(["Plums 1.", "Plums 2."]);
    expect(bad).toEqual([]);
  });

  it.each([
    [
      "is attached to it",
      `Content-Type: multipart/mixed; boundary="b"\n${email(1)}\n--b\nContent-Type: text/plain\n\n${email(4)}\n${others}--b--\n`,
    ],
    [
      "is explained in it",
      email(1).replace(
        "Plums 1.",
        `A mailbox looks like this:\n\n${separator}From: Lea <lea@x.example>\nTo: tom@x.example\nSubject: Hello\n\nHi`,
      ),
    ],
  ])("does not split an email if it %s", async (_, text) => {
    expect((await read("letter", text)).emails).toHaveLength(1);
  });
});

describe("a text next to mail", () => {
  it.each([
    ["log.txt", "Author: Lea <lea@x.example>\nDate:   Mon May 14 10:00:00 2001 +0000\n\n    Fix plums\n"],
    ["dump.txt", "Date: Mon, 14 May 2001 10:00:00 GMT\nServer: Apache\nContent-Type: text/html\n\n<html>x</html>\n"],
    ["letter.txt", "Subject: Lease of the orchard\n\nDear Ms Ray,\n"],
    ["todo.txt", "To: do before Friday\n\n- call Tom\n"],
    ["reply.txt", "Date: Mon, 14 May 2001 10:00:00 GMT\nServer: x\nX-Powered-By: PHP\n\n<p>Plums</p>\n"],
    ["config.yaml", "from: production\nto: staging\nhosts:\n  - a\n"],
    [".mail_cache", "\0\x01\x02"],
    ["index.html", "<html><body>Subject: x</body></html>"],
    ["contacts.vcf", "BEGIN:VCARD\nFN:Lea\nEND:VCARD\n"],
  ])("does not become an email, and does not stop a strict import (%s)", async (name, content) => {
    const folder = folderOf({ "1.eml": email(1), [name]: content });
    const { summary } = await importFrom(emptyDb(), folder, { strict: true });
    expect(summary).toMatchObject({ stored: 1, skipped: { mails: 1 } });
  });

  it.each(["cur/1:2,S", "4.", "letter.eml", "box.mbox", "emails.csv"])(
    "stops a strict import if it claims to be mail (%s)",
    async (path) => {
      const folder = folderOf({ "new/1": email(1), "cur/2": email(2), [path]: "Dear Ms Ray,\n" });
      await expect(importFrom(emptyDb(), folder, { strict: true })).rejects.toThrow(
        /it (?:does not have an email header|is a table without mail columns)/,
      );
    },
  );

  it("becomes an email with one field if its name or place says so", async () => {
    const { emails } = await readAll(
      await openCorpus(folderOf({ "a.eml": "Subject: Plums\n\nRipe.", "2": "To: tom@x.example\n\nRipe." }), null),
    );
    expect(emails).toHaveLength(2);
  });

  it("disappears if MH marked it as deleted", async () => {
    const { emails } = await readAll(await openCorpus(folderOf({ "inbox/1": email(1), "inbox/,2": email(2) }), null));
    expect(emails.map(({ subject }) => subject)).toEqual(["Note 1"]);
  });
});

describe("a folder without mail", () => {
  it.each<[string, string | Buffer, string]>([
    [
      "a.msg",
      Buffer.from("d0cf11e0a1b11ae1", "hex"),
      "2: it is an Outlook .msg or an old Office file: save an email as .eml instead",
    ],
    ["a.pst", "!BDN", "2: it is an Outlook .pst or .ost file: export it as mbox or .eml, for example with readpst"],
    ["a.nsf", Buffer.from("1a0000040000", "hex"), "2: it is a Lotus Notes database (.nsf): export it as .eml or mbox"],
    [
      "a.parquet",
      "version https://git-lfs.github.com/spec/v1\n",
      "2: it is a Git LFS pointer, not the file itself: run git lfs pull",
    ],
    ["a.json", '[{"from": "lea@x.example"}]', "2: it is JSON, not mail: convert it to CSV, Parquet or .eml"],
    ["a.html", "<html>Subject: x</html>", "2: it is HTML, not an email: export it as .eml"],
  ])("causes an error with the most frequent reasons and a way to convert %s", async (name, content, reason) => {
    const folder = folderOf({ [name]: content, [`more/${name}`]: content, empty: "" });
    await expect(openCorpus(folder, null)).rejects.toThrow(
      `none of its 3 files contains mail (${reason}; 1: it is empty)`,
    );
  });
});

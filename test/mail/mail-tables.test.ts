import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { parquetWriteFile } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { openCorpus } from "../../src/mail/import/corpus-formats.js";
import { addressesOf } from "../../src/mail/import/readers/table-cells.js";
import { parseTableDate } from "../../src/mail/mime/mail-date.js";
import { readAll, temporaryFolder } from "./corpus-fixtures.js";

/** Mail tables in the formats of spreadsheets, pandas, databases and dataset libraries. */

const folder = await temporaryFolder();
let files = 0;

async function read(content: string | Buffer) {
  const file = join(folder, `${files++}.csv`);
  await writeFile(file, content);
  const result = await readAll(await openCorpus(file, null));
  expect(result.error).toBeNull();
  return result;
}

const mail = (n: number) => `Message-ID: <${n}@x>\nFrom: lea@x.example\nTo: tom@x.example\n\nPlums, "ripe"; ${n}\n`;
const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;

describe("recognizing a CSV file of raw emails", () => {
  it.each([
    ["if its column names are capitalized", `File,Message\na/1.,${cell(mail(1))}\na/2.,${cell(mail(2))}\n`],
    ["if its separators are semicolons", `file;message\na/1.;${cell(mail(1))}\na/2.;${cell(mail(2))}\n`],
    ["if its separators are tabs", `message\tfile\n${cell(mail(1))}\ta/1.\n${cell(mail(2))}\ta/2.\n`],
    [
      "if a line before the header names the separator",
      `sep=;\r\nfile;message\na/1.;${cell(mail(1))}\na/2.;${cell(mail(2))}\n`,
    ],
    ["if its separators are vertical bars", `file|message\r\na/1.|${cell(mail(1))}\r\na/2.|${cell(mail(2))}\r\n`],
    ["if it starts with a byte order mark", `\ufeffFILE,MESSAGE\na/1.,${cell(mail(1))}\na/2.,${cell(mail(2))}\n`],
    [
      "if it has additional columns",
      `,file,label,message\n0,a/1.,spam,${cell(mail(1))}\n1,a/2.,ham,${cell(mail(2))}\n`,
    ],
  ])("recognizes the file %s", async (_, text) => {
    const { emails, bad } = await read(text);
    expect(bad).toEqual([]);
    expect(emails.map(({ messageId, owner, body, form }) => [messageId, owner, body, form])).toEqual([
      ["<1@x>", "a", 'Plums, "ripe"; 1', "kaggle-csv"],
      ["<2@x>", "a", 'Plums, "ripe"; 2', "kaggle-csv"],
    ]);
  });

  it.each([
    ["only this column", `message\n${cell(mail(1))}\n${cell(mail(2))}\n`],
    ["another column name", `label,Raw_Message\n1,${cell(mail(1))}\n0,${cell(mail(2))}\n`],
    [
      "a first email longer than the examined part",
      `message\n${cell(mail(1) + "x".repeat(100_000))}\n${cell(mail(2))}\n`,
    ],
  ])("recognizes the file if it has %s", async (_, text) => {
    const { emails } = await read(text);
    expect(emails.map(({ messageId }) => messageId)).toEqual(["<1@x>", "<2@x>"]);
  });

  it("recognizes UTF-16, as Excel saves Unicode text, in gzip", async () => {
    const text = `\ufefffile\tmessage\na/1.\t${cell(mail(1).replace("Plums", "Pflaumenmus für 5 €"))}\n`;
    const swapped = Buffer.from(text, "utf16le").swap16();
    for (const bytes of [Buffer.from(text, "utf16le"), swapped, gzipSync(Buffer.from(text))]) {
      expect((await read(bytes)).emails.map(({ body }) => body)).toEqual(['Pflaumenmus für 5 €, "ripe"; 1']);
    }
  });
});

describe("recognizing a CSV file of parsed emails", () => {
  const row = ["<1@x>", "lea@x.example", "tom@x.example", "Plums", "Two."];
  it.each([
    ["if its column names are capitalized", ["Message-ID", "From", "To", "Subject", "Body"], ","],
    [
      "if its column names are the database's",
      ["MESSAGE_ID", "SENDER_ADDRESS", "RECIPIENTS", "SUBJECT", "CONTENT"],
      ",",
    ],
    ["if its separators are semicolons", ["message_id", "from", "to", "subject", "body"], ";"],
    ["if its separators are tabs", ["message_id", "from", "to", "subject", "body"], "\t"],
  ])("recognizes the file %s", async (_, names, delimiter) => {
    const { emails } = await read(`${names.join(delimiter)}\n${row.join(delimiter)}\n`);
    expect(emails).toEqual([
      expect.objectContaining({
        messageId: "<1@x>",
        sender: "lea@x.example",
        to: ["tom@x.example"],
        subject: "Plums",
        body: "Two.",
        form: "parsed-csv",
      }),
    ]);
  });

  it("recognizes lines that end with CR, as Excel for Mac saves them, with LF in cells", async () => {
    const text =
      'From,To,Subject,Body\rlea@x.example,tom@x.example,Plums,"Two,\nripe."\rlea@x.example,a@b.example,Figs,One.\r';
    const { emails, bad } = await read(text);
    expect(bad).toEqual([]);
    expect(emails.map(({ subject, body }) => [subject, body])).toEqual([
      ["Plums", "Two,\nripe."],
      ["Figs", "One."],
    ]);
  });

  it("recognizes the file if it has all fields except Message-IDs", async () => {
    const { emails } = await read("From,To,Subject,Body\nlea@x.example,tom@x.example,Plums,Two.\n");
    expect(emails.map(({ messageId, subject }) => [messageId, subject])).toEqual([
      [expect.stringMatching(/^<[0-9a-f]{32}@missing>$/), "Plums"],
    ]);
  });
});

describe("an unusable CSV file", () => {
  it.each([
    ["if it contains chats", "date,from,text\n2001-05-14,Lea,Two.\n"],
    ["if it contains messages that are not mail", "id,message\n1,Two plums.\n"],
    ["if it contains prices", "name,price\nPlums,2\n"],
  ])("causes an error %s", async (_, text) => {
    const file = join(folder, `${files++}.csv`);
    await writeFile(file, text);
    await expect(openCorpus(file, null)).rejects.toMatchObject({ code: "source_format_unknown" });
  });
});

describe("a table without all mail columns", () => {
  it.each([
    [
      "from_email,to_emails,title,content\n",
      "a column for subject: its columns are from_email, to_emails, title, content",
    ],
    ["Von;An;Betreff;Text\n", "a column for from, to, subject: its columns are Von, An, Betreff, Text"],
    ["Exported;mail\n", "mail columns: its columns are Exported, mail"],
  ])("leads to an error that names the missing ones (%j)", async (text, lacks) => {
    const file = join(folder, `${files++}.csv`);
    await writeFile(file, text);
    await expect(openCorpus(file, null)).rejects.toThrow(`it is a table without ${lacks}`);
  });
});

describe("addressesOf", () => {
  const both = "lea@x.example, tom@x.example";
  it.each([
    ["a comma-separated list", both, both],
    ["numpy's list", "['lea@x.example' 'tom@x.example']", both],
    ["numpy's list over two lines", "['lea@x.example'\n 'tom@x.example']", both],
    ["pandas' array", "array(['lea@x.example', 'tom@x.example'], dtype=object)", both],
    ["Python's list", "['lea@x.example', 'tom@x.example']", both],
    ["Python's tuple", "('lea@x.example', 'tom@x.example')", both],
    ["Python's tuple of one", "('lea@x.example',)", "lea@x.example"],
    ["Python's set", "{'lea@x.example', 'tom@x.example'}", both],
    ["a frozenset", "frozenset({'lea@x.example', 'tom@x.example'})", both],
    ["bytes", "[b'lea@x.example', b'tom@x.example']", both],
    [
      "a Python string that contains an apostrophe",
      `["o'lea@x.example", 'tom@x.example']`,
      "o'lea@x.example, tom@x.example",
    ],
    ["pairs of name and address", "[('Lea', 'lea@x.example'), ('Tom', 'tom@x.example')]", both],
    ["Python's dictionaries", "[{'name': 'Lea', 'email': 'lea@x.example'}]", "lea@x.example"],
    ["JSON", '["lea@x.example", "tom@x.example"]', both],
    ["JSON objects", '[{"name":"Lea","email":"lea@x.example"},{"name":"Tom","email":"tom@x.example"}]', both],
    ["a list in a JSON string", `"['lea@x.example', 'tom@x.example']"`, both],
    ["PostgreSQL's array", "{lea@x.example,tom@x.example}", both],
    ["addresses separated by spaces", "lea@x.example tom@x.example", both],
    ["addresses on separate lines", "lea@x.example\ntom@x.example", both],
    ["a header with names", "Ray, Lea <lea@x.example>", "Ray, Lea <lea@x.example>"],
    ["a header that starts with a comment", "(home) lea@x.example", "(home) lea@x.example"],
    ["Exchange's address type", "[SMTP:lea@x.example]", "[SMTP:lea@x.example]"],
  ])("reads %s", (_, text, list) => {
    expect(addressesOf(text)).toBe(list);
  });

  it.each([
    "",
    "nan",
    "NaN",
    "None",
    "NaT",
    "null",
    "<NA>",
    "N/A",
    "[]",
    "()",
    "{}",
    "['']",
    "[None]",
    "[nan]",
    "set()",
    "frozenset()",
    "[null]",
  ])("reads no address in %j", (text) => {
    expect(addressesOf(text)).toBe("");
  });

  it.each([
    [["lea@x.example", null, "nan"], "lea@x.example"],
    [[{ name: "Lea", address: "lea@x.example" }], "lea@x.example"],
    [null, ""],
    [Number.NaN, ""],
  ])("reads the decoded cell %j", (value, list) => {
    expect(addressesOf(value)).toBe(list);
  });
});

describe("parseTableDate", () => {
  it.each([
    ["2001-05-14 16:39:00 UTC", "2001-05-14T16:39:00Z"],
    ["2001-05-14 16:39:00+00", "2001-05-14T16:39:00Z"],
    ["2001-05-14 16:39:00.123456+02", "2001-05-14T14:39:00Z"],
    ["Timestamp('2001-05-14 16:39:00')", "2001-05-14T16:39:00Z"],
    ["9.8985834e+08", "2001-05-14T16:39:00Z"],
    ["14.05.2001 16:39", "2001-05-14T16:39:00Z"],
    ["14/05/2001 16:39", "2001-05-14T16:39:00Z"],
    ["5/4/2001 16:39", "2001-05-04T16:39:00Z"],
    ["2001年5月14日 16:39", "2001-05-14T16:39:00Z"],
    ["37025.69375", "2001-05-14T16:39:00Z"],
    ["nan", null],
    ["NaT", null],
  ])("reads %s as %s", (text, date) => {
    expect(parseTableDate(text)).toBe(date);
  });
});

describe("a Parquet file", () => {
  const file = (name: string, columns: Record<string, string>) => {
    const filename = join(folder, name);
    const columnData = Object.entries(columns).map(([column, value]) => ({ name: column, data: [value] }));
    parquetWriteFile({ filename, columnData });
    return filename;
  };

  it.each([
    ["JSON", '["tom@x.example", "ida@x.example"]'],
    ["Python's list", "['tom@x.example', 'ida@x.example']"],
    ["numpy's list", "['tom@x.example' 'ida@x.example']"],
  ])("imports like CSV if its addresses are strings that contain %s", async (_, to) => {
    const source = file(`${files++}.parquet`, {
      message_id: "<1@x>",
      from: "frozenset({'lea@x.example'})",
      to,
      cc: "nan",
      date: "2001-05-14 16:39:00+00",
      body: "Two.",
    });
    const { emails } = await readAll(await openCorpus(source, null));
    expect(emails).toEqual([
      expect.objectContaining({
        sender: "lea@x.example",
        to: ["tom@x.example", "ida@x.example"],
        cc: [],
        date: "2001-05-14T16:39:00Z",
      }),
    ]);
  });

  it("imports like Kaggle's CSV if it contains raw emails", async () => {
    const { emails } = await readAll(await openCorpus(file("raw.parquet", { file: "a/1.", message: mail(1) }), null));
    expect(emails.map(({ messageId, owner, form }) => [messageId, owner, form])).toEqual([["<1@x>", "a", "parquet"]]);
  });
});

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, gzipSync } from "node:zlib";
import { strToU8, zipSync } from "fflate";
import { parquetHeader } from "hyparquet/src/column.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { openCorpus } from "../../src/mail/import/corpus-formats.js";
import { checkColumns } from "../../src/platform/parquet-checks.js";
import { readAll, temporaryFolder } from "./corpus-fixtures.js";

const base = await temporaryFolder();
let files = 0;

/** Reads a file with this content. */
async function read(name: string, content: Uint8Array) {
  const folder = join(base, String(files++));
  mkdirSync(folder);
  writeFileSync(join(folder, name), content);
  return readAll(await openCorpus(join(folder, name), null));
}

const email = (n: number) =>
  `Message-ID: <${n}@x.example>\nFrom: a@x.example\nSubject: Mail ${n}\n\n${`plum ${n} `.repeat(40)}\n`;
const mbox = (count: number) =>
  Array.from({ length: count }, (_, n) => `From a Mon Feb  2 09:15:00 2026\n${email(n)}\n`).join("");

const CENTRAL = Buffer.from("504b0102", "hex");
const END = Buffer.from("504b0506", "hex");

describe("a zip archive with a damaged entry", () => {
  const FORMS = [
    ["stored", 0],
    ["deflated", 6],
  ] as const;

  /** Three emails in a zip. `damage` changes the content of the second one. */
  function zipWith(level: 0 | 6, damage: (entry: Buffer) => void): Buffer {
    const whole = Buffer.from(
      zipSync({ "1.eml": strToU8(email(1)), "2.eml": strToU8(email(2)), "3.eml": strToU8(email(3)) }, { level }),
    );
    const start = whole.indexOf("2.eml") + "2.eml".length;
    damage(whole.subarray(start, whole.indexOf("PK\x03\x04", start)));
    return whole;
  }

  it.each(FORMS)(
    "lists an entry whose %s content does not have its checksum, and reads the others",
    async (_, level) => {
      const { emails, bad, error } = await read(
        "mail.zip",
        zipWith(level, (entry) => entry.write("#", 40)),
      );
      expect(error).toBeNull();
      expect(emails.map(({ subject }) => subject)).toEqual(["Mail 1", "Mail 3"]);
      expect(bad).toEqual([
        { where: "mail.zip entry 2.eml", reason: expect.stringMatching(/^it is truncated or damaged: /) },
      ]);
    },
  );

  it.each(FORMS)(
    "does not call an entry empty or not mail if its %s content is damaged at its start",
    async (_, level) => {
      const { bad } = await read(
        "mail.zip",
        zipWith(level, (entry) => entry.fill(0xff, 0, 30)),
      );
      expect(bad.map(({ reason }) => reason)).toEqual([expect.stringMatching(/^it is truncated or damaged: /)]);
    },
  );

  it("lists an entry whose header is damaged, and reads the others", async () => {
    const zip = zipWith(6, () => undefined);
    zip.write("#", zip.indexOf("2.eml") - 30);
    const { emails, bad } = await read("mail.zip", zip);
    expect(emails.map(({ subject }) => subject)).toEqual(["Mail 1", "Mail 3"]);
    expect(bad).toEqual([
      {
        where: "mail.zip entry 2.eml",
        reason: expect.stringContaining("damaged: invalid local file header signature"),
      },
    ]);
  });

  it("lists a damaged mailbox, after reading its emails", async () => {
    const zip = Buffer.from(zipSync({ "in.mbox": strToU8(mbox(20)) }, { level: 0 }));
    zip.write("pear", zip.indexOf("plum 11"));
    const { emails, bad } = await read("mail.zip", zip);
    expect(emails).toHaveLength(19);
    expect(bad.map(({ reason }) => reason)).toEqual([
      "it is truncated or damaged after 19 complete emails: its checksum (CRC-32) is wrong",
    ]);
  });

  it("lists an entry with content whose name is that of a folder", async () => {
    const { emails, bad } = await read("mail.zip", Buffer.from(zipSync({ a: {}, "2.eml/": strToU8(email(2)) })));
    expect(emails).toEqual([]);
    expect(bad).toEqual([{ where: "mail.zip entry 2.eml/", reason: "it is a folder with content" }]);
  });

  it.each([
    ["fewer entries than there are", 0],
    ["a directory without its first entry", 1],
  ])("reports an end that states %s", async (_, omitted) => {
    const zip = zipWith(6, () => undefined);
    const [first, end] = [zip.indexOf(CENTRAL), zip.lastIndexOf(END)];
    const start = omitted === 0 ? first : zip.indexOf(CENTRAL, first + 4);
    expect(start).toBeGreaterThan(0);
    zip.writeUInt16LE(2, end + 10);
    zip.writeUInt32LE(end - start, end + 12);
    zip.writeUInt32LE(start, end + 16);
    const { error } = await read("mail.zip", zip);
    expect(error).toMatchObject({
      message: expect.stringContaining("it contains more entries than the 2 that its end states"),
    });
  });
});

it("names the temporary folder if attachments of Apple Mail cannot be unpacked there", async () => {
  const { TMPDIR } = process.env;
  onTestFinished(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });
  process.env.TMPDIR = join(base, "nowhere");
  const name = "INBOX.mbox/Messages/9.partial.emlx";
  const zip = zipSync({ "1.eml": strToU8(email(1)), [name]: strToU8(`200\n${email(9)}`) });
  const { error } = await read("mail.zip", zip);
  expect(error).toMatchObject({
    message: `Cannot unpack mail.zip entry ${name} to the temporary folder ${process.env.TMPDIR}: no such file or directory.`,
    exitCode: 1,
  });
});

describe("a gzip file of two parts", () => {
  const [first, second] = [gzipSync(mbox(2)), gzipSync(mbox(3))];
  const damaged = Buffer.from(second);
  damaged[0] = 0;

  it.each([
    ["two intact parts", [first, second], 5, null],
    ["two intact parts before zeros, as on a tape", [first, second, Buffer.alloc(2_000_000)], 5, null],
    [
      "one part, and reports the damaged start of the second",
      [first, damaged],
      1,
      "it continues after the end of its compressed data",
    ],
  ])("reads %s", async (_, parts, count, problem) => {
    const { emails, error } = await read("in.mbox.gz", Buffer.concat(parts));
    expect(emails).toHaveLength(count);
    expect(error).toEqual(
      problem === null ? null : expect.objectContaining({ message: expect.stringContaining(problem) }),
    );
  });
});

it("reports a small gzip file with a wrong checksum as damaged, not as empty", async () => {
  const wrong = gzipSync(mbox(2));
  wrong.fill(0, wrong.length - 8, wrong.length - 4);
  await expect(read("in.mbox.gz", wrong)).rejects.toThrow("is truncated or damaged at its start: incorrect data check");
});

it("names damaged metadata of a Parquet file in its own words", async () => {
  await expect(read("mail.parquet", Buffer.from("PAR1"))).rejects.toThrow(
    /\(4 bytes\) is not a complete Parquet file: its metadata is damaged$/,
  );
});

describe("checkColumns", () => {
  const zigzag = (value: number) => {
    const bytes: number[] = [];
    let rest = BigInt(value) < 0n ? -2n * BigInt(value) - 1n : 2n * BigInt(value);
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    return [...bytes, Number(rest)];
  };
  /** A page whose header has fields 1 to 4 (type, sizes, CRC) in Thrift's compact form. */
  const page = (content: string, crc: number) => {
    const fields = [0, content.length, content.length, crc | 0];
    return Buffer.concat([
      Buffer.from([...fields.flatMap((field) => [0x15, ...zigzag(field)]), 0]),
      Buffer.from(content),
    ]);
  };
  const check = (bytes: Buffer) =>
    checkColumns(
      [{ meta_data: { path_in_schema: ["body"], data_page_offset: 0n, total_compressed_size: BigInt(bytes.length) } }],
      new Set(["body"]),
      { slice: (start, end) => new Uint8Array(bytes.subarray(start, end)).buffer },
      parquetHeader,
    );

  it("accepts pages that have their checksum", async () => {
    const pages = ["plums", "pears"].map((text) => page(text, crc32(text)));
    await expect(check(Buffer.concat(pages))).resolves.toBeUndefined();
  });

  it("names the column of a page with a wrong checksum", async () => {
    const pages = [page("plums", crc32("plums")), page("pears", crc32("peaks"))];
    await expect(check(Buffer.concat(pages))).rejects.toThrow(
      "the checksum (CRC-32) of a page of its column body is wrong",
    );
  });

  it("names the column of a page that ends after it", async () => {
    const bytes = page("plums", crc32("plums"));
    await expect(check(bytes.subarray(0, -2))).rejects.toThrow("a page of its column body is longer than the column");
  });
});

import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { boxLines, workFolder } from "../art-e.js";

/** Mail as people have it lying about: saved mails, zipped archives, several of them at once. */

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

it("one saved mail is imported, and its attachments and forwarded mails are found and read", async () => {
  write("report.eml", WITH_ATTACHMENT);
  const imported = await artE("import report.eml --db eml.db --json");
  expect(JSON.parse(imported.stdout)).toMatchObject({ format: "eml", read: 1, stored: 1, skipped: { mails: 0 } });
  for (const words of ["harvest.csv", "quince", "medlar", "Attachments"]) {
    const { stdout } = await artE(["search", "me@my.example", words, "--db", "eml.db", "--order", "newest"]);
    expect([words, stdout]).toEqual([words, expect.stringContaining("<report@x>")]);
  }
  const { stdout } = await artE(["show", "<report@x>", "--db", "eml.db"]);
  expect(stdout).toContain("- harvest.csv (text/csv, 12 bytes)");
  expect(stdout).toContain("----- Forwarded mail: inner -----");
});

it("a zipped mbox is read as the mbox, and its owner is its name", async () => {
  write("me.mbox", mbox(mail("1", "one"), mail("2", "two")));
  write("me.mbox.gz", gzipSync(mbox(mail("1", "one"), mail("2", "two"))));
  const plain = JSON.parse((await artE("import me.mbox --db plain.db --json")).stdout);
  const zipped = JSON.parse((await artE("import me.mbox.gz --db zipped.db --json")).stdout);
  expect({ ...zipped, db: "", seconds: 0 }).toEqual({ ...plain, db: "", seconds: 0 });
  expect(zipped).toMatchObject({ format: "mbox", stored: 2, inboxes: 1 });
  const again = JSON.parse((await artE("import me.mbox.gz --db plain.db --json")).stdout);
  expect(again).toMatchObject({ stored: 0, duplicates: 2 });
});

it("a zipped mbox that is cut off is an error that names it, and nothing is imported", async () => {
  const whole = gzipSync(mbox(...Array.from({ length: 500 }, (_, i) => mail(`${i}`, `${Math.sin(i)}`.repeat(20)))));
  write("cut.mbox.gz", whole.subarray(0, whole.length / 2));
  const { code, stderr } = await artE("import cut.mbox.gz --db cut.db");
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/^art-e: cut\.mbox\.gz is cut off or damaged after \d+ whole mails: /),
  });
  expect((await artE("search me@my.example x --db cut.db")).stderr).toContain("There is no database");
});

it("several sources of different forms are one import", async () => {
  write("a.mbox", mbox(mail("1", "one")));
  write("b.mbox.gz", gzipSync(mbox(mail("2", "two"), mail("1", "one"))));
  write("c.eml", mail("3", "three"));
  const imported = await artE("import a.mbox b.mbox.gz c.eml --db several.db");
  expect(imported.code).toBe(0);
  expect(imported.stdout).toContain("ART-E Import (mbox, eml into several.db)");
  expect(boxLines(imported.stdout)).toMatchObject({
    Read: "4",
    Stored: "3 new messages, 3 of them distinct mails",
    Duplicates: "1 were here already",
  });
  const limited = await artE("import a.mbox b.mbox.gz c.eml --db limited.db --limit 2 --json");
  expect(JSON.parse(limited.stdout)).toMatchObject({ read: 2, stored: 2 });
});

it("of several sources one that cannot be read leaves the database as it was", async () => {
  write("good.eml", mail("good", "good"));
  write("bad.bin", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 0]));
  const { code, stderr } = await artE("import good.eml bad.bin --db none.db");
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("bad.bin is not mail in a form") });
  const missing = await artE("import good.eml not-there --db none.db");
  expect(missing.stderr).toContain("not-there does not exist");
  expect((await artE("search me@my.example good --db none.db")).stderr).toContain(`There is no database at none.db`);
  const two = await artE("import good.eml --csv-path bad.bin --db none.db");
  expect({ code: two.code, stderr: two.stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("SOURCE good.eml and --csv-path bad.bin name different sources."),
  });
});

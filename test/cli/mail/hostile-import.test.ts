import { mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { workFolder } from "../art-e.js";

const { artE, path, read, write } = workFolder();

const mail = (id: string, headers: string, body: string) =>
  `Message-ID: <${id}@x.example>\nFrom: a@x.example\nTo: b@x.example\nSubject: ${id}\n${headers}\n${body}\n`;

/** Each held an import up, for half a minute to for ever. */
const HOSTILE: Readonly<Record<string, string>> = {
  "date.": mail("date", `Date: Mon${" ".repeat(1_000_000)}x\n`, "body"),
  "date-dashes.": mail("date-dashes", `Date: 1 ${"- ".repeat(500_000)}Jan\n`, "body"),
  "ats.": mail("ats", `Date: Mon, 5 Mar 2001 10:00:00 -0800\nCc: ${"@".repeat(1_000_000)}\n`, "@".repeat(1_000_000)),
  "groups.": mail("groups", `Cc: ${"a:".repeat(500_000)} last@x.example,\n`, "body"),
  "brackets.": mail("brackets", `Cc: <${" ".repeat(1_000_000)}>${"'>".repeat(500_000)}x\n`, "body"),
  "blank.": mail("blank", "", `${" \n".repeat(500_000)}body${" ".repeat(1_000_000)}.`),
  "words.": mail("words", `X-To: ${"=?utf-8?q?".repeat(100_000)}\n`, "=?".repeat(500_000)),
};

const LINKS = mail("links", "Content-Type: text/html\n", `<p>${"<a href='".repeat(40_000)}`);

describe("one mail does not hold an import up", () => {
  it("whatever its headers and its body repeat", { timeout: 60_000 }, async () => {
    mkdirSync(path("inbox/own-o/inbox"), { recursive: true });
    for (const [name, text] of Object.entries(HOSTILE)) write(`inbox/own-o/inbox/${name}`, text);
    const begun = performance.now();
    const { code, stdout } = await artE("import inbox --db slow.db --json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ stored: 7, skipped: { mails: 0 } });
    expect(performance.now() - begun).toBeLessThan(30_000);
    // The baseline reads it as well as the search does.
    const found = await artE("search b@x.example body --db slow.db --json");
    expect(found.code).toBe(0);
    const asked = ["ask", "b@x.example", "What is the e-mail address?", "-a", "baseline", "--db", "slow.db", "--json"];
    expect(await artE(asked)).toMatchObject({ code: 0 });
  });

  it("a body that its parser takes too long over is counted as unreadable and named", { timeout: 90_000 }, async () => {
    mkdirSync(path("html/own-o/inbox"), { recursive: true });
    write("html/own-o/inbox/1.", mail("before", "Content-Type: text/html\n", "<p>Before</p>"));
    write("html/own-o/inbox/2.", LINKS);
    write("html/own-o/inbox/3.", mail("behind", "Content-Type: text/html\n", "<p>Caf&eacute;</p>"));
    const { code, stdout } = await artE("import html --db html.db --json");
    expect(code).toBe(0);
    const told = JSON.parse(stdout);
    expect(told).toMatchObject({ stored: 2, skipped: { mails: 1, reasons: { "it takes more than 5 s to parse": 1 } } });
    expect(told.skipped.first[0].where).toMatch(/own-o\/inbox\/2\.$/);
    expect(read("html.db.skipped.tsv")).toMatch(/own-o\/inbox\/2\.\tit takes more than 5 s to parse\n/);
    const found = JSON.parse((await artE("show <behind@x.example> --db html.db --json")).stdout);
    expect(JSON.stringify(found)).toContain("Café");
  });
});

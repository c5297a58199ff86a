import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { strToU8, type Zippable, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { openCorpus } from "../../src/mail/import/corpus-formats.js";
import { checkExpansion } from "../../src/mail/import/readers/gunzip.js";
import { UserError } from "../../src/platform/errors.js";
import { csv, readAll, temporaryFolder, writeParquet, writeTar } from "./corpus-fixtures.js";
import { importFolder, importFrom } from "./import-setup.js";

/** Mail in common layouts: exports, profiles of mail programs, archives, and a mixture of them. */

const base = await temporaryFolder();
let folders = 0;

type Tree = Readonly<Record<string, string | Buffer>>;

/** A new folder with these files. The last segment of `root` is its name. */
function folderOf(tree: Tree, root = "mail"): string {
  const folder = join(base, String(folders++), root);
  for (const [path, content] of Object.entries(tree)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

function zipOf(tree: Tree, name: string): string {
  const entries: Zippable = {};
  for (const [path, content] of Object.entries(tree)) {
    entries[path] = typeof content === "string" ? strToU8(content) : content;
  }
  return fileOf(name, Buffer.from(zipSync(entries)));
}

async function tarOf(tree: Tree, name: string): Promise<string> {
  const file = fileOf(name, "");
  const entries = Object.entries(tree).map(([path, content]) => ({ name: path, content: Buffer.from(content) }));
  await writeTar(file, entries, name.endsWith("gz"));
  return file;
}

const fileOf = (name: string, content: string | Buffer) => join(folderOf({ [name]: content }), name);

const ME = "me@my.example";
let emails = 0;

/** A unique email. */
function email(from = "ida@brook.example", to = ME, body = "Plums."): string {
  const n = ++emails;
  return `Message-ID: <${n}@x>\nDate: Mon, 2 Feb 2026 09:15:00 +0100\nFrom: ${from}\nTo: ${to}\nSubject: Mail ${n}\n\n${body}\n`;
}

const sent = () => email(ME, "piet@maas.example");

/** An mbox with separators of any form. */
const mbox = (count: number, make = email, separator = (_n: number) => "From ida Mon Feb  2 09:15:00 2026") =>
  Array.from({ length: count }, (_, n) => `${separator(n)}\n${make()}\n`).join("");

const takeoutSeparator = (n: number) => `From 18${n}4@xxx Mon Feb 02 09:15:00 +0000 2026`;
const thunderbirdSeparator = () => "From - Mon Feb 02 09:15:00 2026";

function emlx(): string {
  const mail = email();
  return `${Buffer.byteLength(mail)}     \n${mail}<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"></plist>\n`;
}

const { emptyDb } = importFolder();

/** The summary of an import, and the owner of each address. */
async function importOf(...[source, options]: [string, Parameters<typeof importFrom>[2]?]) {
  const db = emptyDb();
  const { summary, skipped } = await importFrom(db, source, options);
  const owners = db.prepare("SELECT folder, address FROM owners ORDER BY folder").raw().all() as [string, string][];
  const paths = db.prepare("SELECT path FROM messages ORDER BY path").pluck().all() as string[];
  return { ...summary, list: skipped, owners: Object.fromEntries(owners), paths };
}

const takeout = (): Tree => ({
  "Takeout/archive_browser.html": "<html><body>Subject: your archive</body></html>",
  "Takeout/Mail/All mail Including Spam and Trash.mbox":
    mbox(12, email, takeoutSeparator) + mbox(3, sent, takeoutSeparator),
  "Takeout/Mail/User Settings/Filters.json": '{"filters": []}',
});

describe("Google Takeout", () => {
  const whole = { read: 17, stored: 15, forms: { mbox: 15 }, skipped: { mails: 2 } };

  it("imports from its folder, from the parent folder, and from the subfolder that contains only mail", async () => {
    const folder = folderOf(takeout(), "ida");
    for (const source of [folder, join(folder, "Takeout")]) {
      expect(await importOf(source)).toMatchObject({ ...whole, owners: { ida: ME } });
    }
    expect(await importOf(join(folder, "Takeout/Mail"))).toMatchObject({ read: 16, stored: 15, owners: { ida: ME } });
  });

  it("imports from a .zip and a .tgz, and the file name becomes the owner", async () => {
    const zip = zipOf(takeout(), "takeout-20260202T081500Z-001.zip");
    expect(await importOf(zip)).toMatchObject({ ...whole, format: "zip", owners: { "takeout-20260202T081500Z": ME } });
    const tgz = await tarOf(takeout(), "takeout-20260202T081500Z-1-002.tgz");
    expect(await importOf(tgz)).toMatchObject({ ...whole, format: "tar", owners: { "takeout-20260202T081500Z": ME } });
  });
});

describe("a Thunderbird profile", () => {
  const profile = (): Tree => ({
    "prefs.js": "// Mozilla User Preferences\n",
    "global-messages-db.sqlite": "SQLite format 3\0....",
    "ImapMail/imap.my.example.msf": '// <!-- <mdb:mork:z v="1.4"/> -->\n',
    "ImapMail/imap.my.example/INBOX": mbox(5, email, thunderbirdSeparator),
    "ImapMail/imap.my.example/INBOX.msf": '// <!-- <mdb:mork:z v="1.4"/> -->\n',
    "ImapMail/imap.my.example/INBOX.sbd/Boats": mbox(2, () => email("club@rowing.example", "members@rowing.example")),
    "ImapMail/imap.my.example/Sent": mbox(4, sent, thunderbirdSeparator),
    "ImapMail/imap.my.example/Trash": "",
    "ImapMail/imap.my.example/msgFilterRules.dat": 'version="9"\n',
    "Mail/Local Folders/Unsent Messages": "",
    "Mail/Local Folders/Old": mbox(3, email, () => "From "),
    "Mail/Local Folders/Old.sbd/2025.sbd/May": mbox(1, email, () => "From - "),
  });

  it("imports with its deepest subfolder, and each account becomes one owner", async () => {
    const result = await importOf(folderOf(profile(), "abc.default-release"));
    expect(result).toMatchObject({
      format: "mbox",
      forms: { mbox: 15 },
      stored: 15,
      owners: { "imap.my.example": ME, "Local Folders": ME },
    });
    expect(result.paths).toContain("imap.my.example/Sent/4");
    expect(result.paths).toContain("Local Folders/Old.sbd/2025.sbd/May/1");
    expect(Object.keys(result.skipped.reasons).sort()).toEqual([
      "it does not have an email header (Message-ID, Date, From, To or Subject)",
      "it is a Thunderbird index",
      "it is a file that belongs to a mail program or the system, not mail",
      "it is an SQLite database, not mail",
      "it is an empty mailbox",
    ]);
    expect(result.read).toBe(15 + result.list.length);
  });

  it("gets two owners if two accounts have folders with the same name", async () => {
    const account = (owner: string) => mbox(2, () => email("ida@brook.example", owner));
    const { owners } = await importOf(
      folderOf({
        "one.default/Mail/Local Folders/Inbox": account("one@my.example"),
        "two.default/Mail/Local Folders/Inbox": account("two@my.example"),
      }),
    );
    expect(owners).toEqual({
      "one.default/Local Folders": "one@my.example",
      "two.default/Local Folders": "two@my.example",
    });
  });

  it("passes --strict, which only a file that claims to be mail can fail", async () => {
    expect(await importOf(folderOf(profile(), "abc"), { strict: true })).toMatchObject({ stored: 15 });
    const broken = { ...profile(), "saved/letter.eml": "Dear Ida," };
    await expect(importOf(folderOf(broken, "abc"), { strict: true })).rejects.toThrow(
      "letter.eml: it does not have an email header",
    );
  });
});

describe("Apple Mail", () => {
  it("imports from exported mailboxes", async () => {
    const folder = folderOf(
      {
        "INBOX.mbox/mbox": mbox(3),
        "INBOX.mbox/table_of_contents": Buffer.from([0, 0, 0, 3, 0]),
        "Sent Messages.mbox/mbox": mbox(2, sent),
      },
      "Export",
    );
    expect(await importOf(folder)).toMatchObject({
      stored: 5,
      forms: { mbox: 5 },
      skipped: { mails: 1 },
      owners: { Export: ME },
    });
    expect((await importOf(join(folder, "INBOX.mbox"))).owners).toEqual({ INBOX: ME });
  });

  it("imports from its library of .emlx files", async () => {
    const messages = "V10/6A1F/INBOX.mbox/77B2/Data";
    const result = await importOf(
      folderOf({
        [`${messages}/Messages/1.emlx`]: emlx(),
        [`${messages}/Messages/2.partial.emlx`]: emlx(),
        [`${messages}/3/Messages/3001.emlx`]: emlx(),
        [`${messages}/Attachments/2/2/plan.pdf`]: "%PDF-1.4",
        "V10/6A1F/INBOX.mbox/Info.plist": '<?xml version="1.0"?><plist/>',
        "V10/MailData/Envelope Index": "SQLite format 3\0",
      }),
    );
    expect(result).toMatchObject({ stored: 3, format: "emlx", forms: { emlx: 3 }, skipped: { mails: 2 } });
    expect(result.owners).toEqual({ "6A1F": ME });
  });

  it.each([
    ["a folder", (tree: Tree) => folderOf(tree)],
    ["a zip", (tree: Tree) => zipOf(tree, "mail.zip")],
    ["a tar", (tree: Tree) => tarOf(tree, "mail.tgz")],
  ])("imports from %s with the attachments stored next to an .emlx file", async (_where, store) => {
    const type = (name: string) => `Content-Disposition: attachment; filename="${name}"\nContent-Type: text/plain`;
    const part = (header: string, text = "") => `--b\n${header}\n\n${text}\n`;
    const inner = `--c\nContent-Type: text/plain\n\nSee both.\n--c\n${type("b.txt")}\nX-Apple-Content-Length: 5\n\n\n--c--`;
    const lines = [
      `From: ${ME}\nContent-Type: multipart/mixed; boundary="b"\n\n`,
      part('Content-Type: multipart/mixed; boundary="c"', inner),
      part(`${type("a.txt")}\nContent-Transfer-Encoding: quoted-printable\nX-Apple-Content-Length: 6`),
      part(`${type("c.txt")}\nX-Apple-Content-Length: 6`),
      part(type("d.txt"), "Dates."),
      "--b--\n",
    ];
    const mail = lines.join("");
    const stored = await store({
      "Data/Messages/9.partial.emlx": `${mail.length}\n${mail}<?xml version="1.0"?>\n<plist version="1.0"></plist>\n`,
      "Data/Attachments/9/2/a.txt": "Apples=3D",
      "Data/Attachments/9/1.2/b.txt": "Beans",
      "Data/Attachments/9/3/.DS_Store": "Bud1",
    });
    const { emails: found } = await readAll(await openCorpus(stored, null));
    expect(found.map(({ body }) => body.replace(/^[\s\S]*?(?=----- )/, "").split(/\n+/))).toEqual([
      [
        "----- Attachment: b.txt -----",
        "Beans",
        "----- Attachment: a.txt -----",
        "Apples=3D",
        "----- Attachment: c.txt -----",
        "----- Attachment: d.txt -----",
        "Dates.",
      ],
    ]);
  });
});

it("reads saved emails in a folder Attachments next to a folder Messages", async () => {
  const folder = folderOf({ "Saved/Messages/1.eml": email(), "Saved/Attachments/2.eml": email() });
  expect(await importOf(folder)).toMatchObject({ stored: 2, skipped: { mails: 0 } });
});

describe("an .emlx file", () => {
  const mail = "From: ida@brook.example\nSubject: Plums\n\nTwo.\n";
  const list = '<?xml version="1.0"?>\n<plist version="1.0"></plist>\n';

  it.each([
    ["if its count is exact", `${mail.length}\n${mail}${list}`],
    ["if spaces follow the count", `${mail.length}        \n${mail}${list}`],
    ["if it has CRLF, which makes the count too low", `${mail.length}\n${mail}`.replaceAll("\n", "\r\n") + list],
    ["if the count is too high", `${mail.length + 20}\n${mail}${list}`],
    ["if it has no property list", `${mail.length}\n${mail}`],
    ["if it has more than 64 KB", `${mail.length + 100_000}\n${mail.trimEnd()}${" ".repeat(100_000)}\n${list}`],
  ])("imports without its wrapper %s", async (_, text) => {
    const { emails: found } = await readAll(await openCorpus(fileOf("1.emlx", text), null));
    expect(found.map(({ subject, body, form }) => [subject, body, form])).toEqual([["Plums", "Two.", "emlx"]]);
  });
});

describe("Maildirs", () => {
  it("import in every layout that servers and clients use, and each has one owner", async () => {
    const result = await importOf(
      folderOf({
        "ada/Maildir/cur/1:2,S": email("x@x.example", "ada@my.example"),
        "ada/Maildir/new/2": email("x@x.example", "ada@my.example"),
        "ada/Maildir/tmp/3": email("x@x.example", "ada@my.example"),
        "ada/Maildir/.Sent/cur/4:2,S": email("ada@my.example", "x@x.example"),
        "ada/Maildir/.Sent/new/5": email("ada@my.example", "x@x.example"),
        "ada/Maildir/dovecot-uidlist": "3 V1 N5\n",
        "bea/Archive/cur/1": email("x@x.example", "bea@my.example"),
        "bea/Archive/new/2": email("x@x.example", "bea@my.example"),
        "bea/INBOX/cur/3": `From x Mon Feb  2 09:15:00 2026\n${email("x@x.example", "bea@my.example")}`,
        "bea/INBOX/new/4": email("x@x.example", "bea@my.example"),
      }),
    );
    expect(result).toMatchObject({
      stored: 8,
      skipped: { mails: 2 },
      owners: { ada: "ada@my.example", bea: "bea@my.example" },
    });
    expect(result.list.map(({ where, reason }) => [basename(where), reason])).toEqual([
      ["dovecot-uidlist", "it is a file that belongs to a mail program or the system, not mail"],
      ["3", "it is in the tmp folder of a Maildir, so it was not delivered"],
    ]);
  });
});

describe("an account's mailboxes", () => {
  it("keep their mail separate from the account's other owners", async () => {
    const { owners } = await importOf(
      folderOf(
        {
          Sent: mbox(4, sent),
          "maildir/doe-j/inbox/1.": email("x@x.example", "jane.doe@x.example"),
          "maildir/roe-r/inbox/1.": email("x@x.example", "rick.roe@x.example"),
          "people/piet.mbox": mbox(2, () => email("x@x.example", "piet@maas.example")),
        },
        "ida",
      ),
    );
    expect(owners).toMatchObject({ ida: ME, piet: "piet@maas.example" });
  });
});

describe("an mbox", () => {
  it("gets its folder as the owner if it is named after a mailbox, and otherwise its own name", async () => {
    const folder = folderOf({ Sent: mbox(4, sent) }, "ida");
    expect((await importOf(join(folder, "Sent"))).owners).toEqual({ ida: ME });
    expect((await importOf(fileOf("piet.mbox", mbox(2)))).owners).toEqual({ piet: ME });
    const people = folderOf({ "piet.mbox": mbox(2), "ada.mbox.gz": gzipSync(mbox(1)) });
    expect(Object.keys((await importOf(people)).owners)).toEqual(["ada", "piet"]);
  });
});

/** A person's mail: 3 emails to her, 2 from her, and 1 of a mailing list, whose recipients do not name her. */
function personalMail(name: string) {
  const address = `${name}@my.example`;
  const subject = (what: string) => (mail: string) => mail.replace(/^Subject: .*$/m, `Subject: ${name} ${what}`);
  const received = Array.from({ length: 3 }, (_, n) => subject(`in ${n}`)(email(`q${n}@x.example`, address)));
  const written = Array.from({ length: 2 }, (_, n) => subject(`out ${n}`)(email(address, `q${n}@x.example`)));
  return { inbox: [...received, subject("list")(email("q0@x.example", "all@lists.example"))], sent: written };
}

const files = (folder: string, mails: readonly string[], end = "") =>
  Object.fromEntries(mails.map((mail, n) => [`${folder}/${n + 1}${end}`, mail]));
const maildir = (folder: string, name: string): Record<string, string> => {
  const { inbox, sent } = personalMail(name);
  const delivered = { [`${folder}/new/9`]: inbox[0] as string, ...files(`${folder}/cur`, inbox.slice(1), ":2,S") };
  return { ...delivered, [`${folder}/.Sent/new/8`]: sent[0] as string, ...files(`${folder}/.Sent/cur`, sent.slice(1)) };
};
const emailFolders = (folder: string, name: string, end: string): Record<string, string> => {
  const { inbox, sent } = personalMail(name);
  return {
    ...files(`${folder}/Archive`, inbox.slice(3), end),
    ...files(`${folder}/inbox`, inbox.slice(0, 3), end),
    ...files(`${folder}/sent`, sent, end),
  };
};
const oneMbox = (name: string) => {
  const { inbox, sent } = personalMail(name);
  return [...inbox, ...sent].map((mail) => `From x Mon Feb  2 09:15:00 2026\n${mail}\n`).join("");
};
const NAMES = ["ann", "ben"];
const both = (make: (name: string) => Tree): Tree => ({ ...make("ann"), ...make("ben") });
const each = (tree: Tree, path: (name: string) => string) => {
  const folder = folderOf(tree);
  return NAMES.map((name) => join(folder, path(name)));
};
/** One source per person: the layout at the person's path. */
const apart = (path: (name: string) => string, layout: (path: string, name: string) => Tree) =>
  each(
    both((name) => layout(path(name), name)),
    path,
  );
/** One source for both: their parent folder or archive. */
const together = (source: (tree: Tree, name: string) => string, name: string, make: (name: string) => Tree) => [
  source(both(make), name),
];
const inTar = async (name: string, make: (name: string) => Tree) => [await tarOf(both(make), name)];

/** The sources of every layout, and the names of the owners. */
const PEOPLE: readonly (readonly [string, () => readonly string[] | Promise<readonly string[]>, readonly string[]])[] =
  [
    ["Maildirs", () => apart((n) => `home/${n}/Maildir`, maildir), NAMES],
    ["the parent of Maildirs", () => together(folderOf, "home", (n) => maildir(`${n}/Maildir`, n)), NAMES],
    ["the folder of a mail server", () => together(folderOf, "vmail", (n) => maildir(`my.example/${n}`, n)), NAMES],
    ["a server's users", () => apart((n) => `vmail/my.example/${n}`, maildir), NAMES],
    [
      "domains with Maildirs",
      () => [folderOf(both((n) => maildir(`${n}.example/post/Maildir`, n)))],
      ["ann.example/post", "ben.example/post"],
    ],
    ["single mailboxes", () => apart((n) => `${n}/Mail/INBOX`, maildir), NAMES],
    ["an archive of home folders", () => inTar("home.tar", (n) => maildir(`home/${n}/Maildir`, n)), NAMES],
    ["an archive of a server", () => inTar("vmail.tgz", (n) => maildir(`vmail/my.example/${n}`, n)), NAMES],
    ["an archive of folders of emails", () => inTar("backup.tar", (n) => emailFolders(`home/${n}`, n, ".eml")), NAMES],
    ["a zip archive of home folders", () => together(zipOf, "home.zip", (n) => maildir(`home/${n}/Maildir`, n)), NAMES],
    ["folders of emails", () => together(folderOf, "export", (n) => emailFolders(`users/${n}`, n, ".eml")), NAMES],
    [
      "inboxes",
      () =>
        apart(
          (n) => `${n}/Inbox`,
          (path, n) => files(path, Object.values(emailFolders("", n, "")), ".eml"),
        ),
      NAMES,
    ],
    [
      "MH folders",
      () =>
        apart(
          (n) => `${n}/Mail`,
          (path, n) => emailFolders(path, n, ""),
        ),
      NAMES,
    ],
    [
      "mbox files with one name",
      () =>
        apart(
          (n) => `${n}/archive.mbox`,
          (path, n) => ({ [path]: oneMbox(n) }),
        ),
      ["ann/archive", "ben/archive"],
    ],
    [
      "archives with one name",
      () => NAMES.map((n) => zipOf(emailFolders("mail", n, ".eml"), "export.zip")),
      ["EXPORT", "EXPORT"],
    ],
    [
      "Thunderbird profiles",
      () =>
        apart(
          (n) => `${n}.default`,
          (path, n) => ({ [`${path}/ImapMail/imap.my.example/INBOX`]: oneMbox(n) }),
        ),
      ["ann.default/imap.my.example", "ben.default/imap.my.example"],
    ],
    [
      "tables with a path column",
      () =>
        apart(
          (n) => `${n}/emails.csv`,
          (path, n) => {
            const mails = Object.entries(emailFolders("mail", n, ".eml"));
            return { [path]: csv([["file", "message"], ...mails.map(([file, mail]) => [file, String(mail)])]) };
          },
        ),
      ["ann/emails.csv", "ben/emails.csv"],
    ],
  ];

const owner = (name: string) => [
  `${name} in 0`,
  `${name} in 1`,
  `${name} in 2`,
  `${name} list`,
  `${name} out 0`,
  `${name} out 1`,
];

function mailboxOf(db: ReturnType<typeof emptyDb>, address: string): string[] {
  return db
    .prepare(
      `SELECT m.subject FROM mailboxes b JOIN addresses a ON a.id = b.address_id
       JOIN mail_order o ON o.position = b.position JOIN mails m ON m.id = o.mail_id
       WHERE a.address = ? ORDER BY m.subject`,
    )
    .pluck()
    .all(address) as string[];
}

const namesOf = (db: ReturnType<typeof emptyDb>) =>
  db.prepare("SELECT folder FROM owners ORDER BY folder").pluck().all() as string[];

describe("two people's accounts", () => {
  it.each(PEOPLE)(
    "become two mailboxes, neither of which returns the other's mail, in %s",
    async (_, sourcesOf, names) => {
      const sources = await sourcesOf();
      const db = emptyDb();
      for (const source of sources) await importFrom(db, source);
      expect(mailboxOf(db, "ann@my.example")).toEqual(owner("ann"));
      expect(mailboxOf(db, "ben@my.example")).toEqual(owner("ben"));
      const shown = namesOf(db);
      if (names[0] === "EXPORT") expect(shown.map((name) => basename(name))).toEqual(["export", "export"]);
      else expect(shown).toEqual(names);
      // A second import of the same place finds the owners again.
      for (const source of sources) expect((await importFrom(db, source)).summary.stored).toBe(0);
      expect(namesOf(db)).toEqual(shown);
    },
  );

  it("become different owners with an owner map, with any end of their paths", async () => {
    const source = folderOf(
      both((name) => maildir(`my.example/${name}`, name)),
      "vmail",
    );
    const ownerMap = new Map([
      ["ann", "ann.map@my.example"],
      ["my.example/ben", "ben.map@my.example"],
    ]);
    const db = emptyDb();
    await importFrom(db, source, { ownerMap });
    expect(mailboxOf(db, "ann.map@my.example")).toEqual(owner("ann"));
    expect(mailboxOf(db, "ben.map@my.example")).toEqual(owner("ben"));
  });

  it("cannot share a name in an owner map", async () => {
    const source = folderOf(
      both((name) => maildir(`${name}/post/Maildir`, name)),
      "home",
    );
    const importing = importFrom(emptyDb(), source, { ownerMap: new Map([["post", "ann@my.example"]]) });
    await expect(importing).rejects.toThrow(`The owner map's folder "post" could be "ann/post" or "ben/post".`);
  });

  it("both contain an email that both have", async () => {
    const mail = email("q0@x.example", "all@lists.example");
    const tree = both((name) => ({ ...maildir(`${name}/Maildir`, name), [`${name}/Maildir/cur/7:2,S`]: mail }));
    const db = emptyDb();
    for (const source of each(tree, (name) => `${name}/Maildir`)) await importFrom(db, source);
    for (const name of ["ann", "ben"]) expect(mailboxOf(db, `${name}@my.example`)).toHaveLength(7);
  });
});

/** A file of every format, and its number of emails. */
const everything = (): Tree => ({
  "a/in.mbox": mbox(3),
  "a/old.mbox.gz": gzipSync(mbox(2)),
  "b/one.eml": email(),
  "b/two.eml.gz": gzipSync(email()),
  "b/three.emlx": emlx(),
  "c/Maildir/cur/1:2,S": email(),
  "c/Maildir/new/2": email(),
  "d/doe-j/inbox/1.": email(),
  "e/emails.csv": csv([
    ["file", "message"],
    ["doe-j/inbox/7.", email()],
  ]),
  "e/parsed.csv.gz": gzipSync(
    csv([
      ["message_id", "from", "to", "body"],
      [`<csv${++emails}@x>`, "ida@brook.example", ME, "Plums."],
    ]),
  ),
  "f/notes.txt": "To do\nSubject: plums\n\nmore",
  "f/picture.png": Buffer.from("89504e470d0a1a0a00", "hex"),
  "f/empty": "",
});

const FORMS = { mbox: 5, eml: 2, emlx: 1, maildir: 3, "kaggle-csv": 1, "parsed-csv": 1 };

describe("a folder with files in every format", () => {
  it("imports completely, and each file is read or listed with the reason, including the last", async () => {
    const folder = folderOf(everything());
    const shard = {
      messageId: "<p@x>",
      subject: "",
      sender: ME,
      to: [],
      cc: [],
      bcc: [],
      date: null,
      body: "",
      path: "",
      owner: null,
    };
    writeParquet(join(folder, "e/emails.parquet"), [shard]);
    await writeTar(join(folder, "g.tar.gz"), [{ name: "maildir/roe-r/sent/1.", content: Buffer.from(email()) }], true);
    writeFileSync(join(folder, "h.zip"), readFileSync(zipOf({ "in.mbox": mbox(2), "x.bin": "\0\0" }, "h.zip")));
    const result = await importOf(folder);
    expect(result.forms).toEqual({ ...FORMS, mbox: 7, maildir: 4, parquet: 1 });
    const reasons = Object.fromEntries(
      result.list.map(({ where, reason }) => [where.slice(folder.length + 1), reason]),
    );
    expect(reasons).toEqual({
      "f/empty": "it is empty",
      "f/notes.txt": "it does not have an email header (Message-ID, Date, From, To or Subject)",
      "f/picture.png": "it is binary data, not an email",
      "h.zip entry x.bin": "it is binary data, not an email",
    });
    expect(result.read).toBe(17 + 4);
    expect(result.stored).toBe(17);
  });

  it.each([
    ["a zip", (tree: Tree) => zipOf(tree, "all.zip")],
    ["a tar", (tree: Tree) => tarOf(tree, "all.tar")],
    ["a gzipped tar", (tree: Tree) => tarOf(tree, "all.tar.gz")],
    ["a zip in a tar", async (tree: Tree) => tarOf({ "all.zip": readFileSync(zipOf(tree, "all.zip")) }, "outer.tar")],
    ["a tar in a zip", async (tree: Tree) => zipOf({ "all.tgz": readFileSync(await tarOf(tree, "all.tgz")) }, "o.zip")],
  ])("imports from %s too", async (_, pack) => {
    const result = await importOf(await pack(everything()));
    expect(result.forms).toEqual(FORMS);
    expect(result.list.map(({ where }) => where.replace(/.* /, "")).sort()).toEqual([
      "f/empty",
      "f/notes.txt",
      "f/picture.png",
    ]);
  });

  it("causes an error if no file is mail", async () => {
    const folder = folderOf({ "notes.txt": "To do\n", "a/b.html": "<p>Subject: plums</p>" });
    await expect(openCorpus(folder, null)).rejects.toThrow("none of its 2 files contains mail");
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`${n}.txt`, "To do\n"]));
    expect(await importOf(folderOf({ ...many, "z.eml": email() }))).toMatchObject({ read: 61, stored: 1 });
  });

  it("imports even after a damaged file, which appears in the list", async () => {
    const whole = gzipSync(mbox(50, () => email("a@x.example", ME, `${Math.sin(emails)}`.repeat(30))));
    const folder = folderOf({
      "a.mbox.gz": whole.subarray(0, whole.length / 2),
      "b.zip": Buffer.from("PK\x03\x04 and no more"),
      "c.parquet": "PAR1 and no more",
      "d.eml": email(),
      "e.csv": `${csv([["file", "message"]])}"1.","Subject: never closed\n`,
    });
    const { list, forms } = await importOf(folder);
    expect(forms.eml).toBe(1);
    expect(forms.mbox).toBeGreaterThan(5);
    expect(list.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^it is truncated or damaged after \d+ complete emails: unexpected end of file$/),
      expect.stringMatching(/^it is truncated or damaged after 0 complete entries: /),
      expect.stringMatching(/^it \(16 bytes\) is not a complete Parquet file: /),
      "it is truncated in row 2: a quoted field is not closed",
    ]);
  });

  it("imports through links to its own shards, as in a cache, but not through other links", async () => {
    const outside = folderOf({ "blob.csv": csv([["message"], [email()]]), "secret.eml": email() });
    const folder = folderOf({ "1.eml": email() });
    symlinkSync(join(outside, "blob.csv"), join(folder, "emails.csv"));
    symlinkSync(join(outside, "secret.eml"), join(folder, "2.eml"));
    const { forms, list } = await importOf(folder);
    expect(forms).toEqual({ eml: 1, "kaggle-csv": 1 });
    expect(list.map(({ where }) => basename(where))).toEqual(["2.eml"]);
  });
});

describe("a zip archive", () => {
  it("appears entry by entry if encrypted", async () => {
    const folder = folderOf({ "secret.eml": email() });
    if (!existsSync("/usr/bin/zip")) return;
    execFileSync("zip", ["-q", "-P", "plums", "mail.zip", "secret.eml"], { cwd: folder });
    const { bad, emails: found } = await readAll(await openCorpus(join(folder, "mail.zip"), null));
    expect(found).toEqual([]);
    expect(bad).toEqual([{ where: "mail.zip entry secret.eml", reason: "it is encrypted" }]);
  });

  it("returns the valid emails even if other names are hostile, and writes nothing", async () => {
    const names = ["../../evil.eml", "/etc/evil.eml", "C:\\evil.eml", "a\\..\\..\\evil.eml"];
    const tree = Object.fromEntries([...names.map((name) => [name, email()]), ["good.eml", email()]]);
    const { bad, emails: found, error } = await readAll(await openCorpus(zipOf(tree, "mail.zip"), null));
    expect(error).toBeNull();
    expect(found).toHaveLength(1);
    expect(bad.map(({ reason }) => reason).sort()).toEqual([
      "its path is absolute",
      "its path is absolute",
      "its path leads out of the archive",
      "its path leads out of the archive",
    ]);
  });

  it("contains no mail if it is an Office document", async () => {
    const docx = readFileSync(zipOf({ "[Content_Types].xml": "<Types/>", "word/document.xml": "<w/>" }, "a.docx"));
    const { list, stored } = await importOf(folderOf({ "letter.docx": docx, "1.eml": email() }));
    expect(stored).toBe(1);
    expect(list.map(({ reason }) => reason)).toEqual(["it is an Office document, not mail"]);
  });

  it("appears in the error if truncated", async () => {
    const whole = readFileSync(zipOf({ "in.mbox": mbox(50) }, "mail.zip"));
    const cut = fileOf("mail.zip", whole.subarray(0, whole.length / 2));
    const { error } = await readAll(await openCorpus(cut, null));
    expect(error).toBeInstanceOf(UserError);
    expect(String(error)).toContain("mail.zip is truncated or damaged after 0 complete entries: ");
  });

  it("stays packed if it is inside more than four archives", async () => {
    let zip = zipOf({ "1.eml": email() }, "0.zip");
    for (let i = 1; i < 6; i++) zip = zipOf({ [`${i - 1}.zip`]: readFileSync(zip), [`${i}.eml`]: email() }, `${i}.zip`);
    const { list, stored } = await importOf(zip);
    expect(stored).toBe(4);
    expect(list.map(({ reason }) => reason)).toEqual(["it is an archive nested in 4 others, which is not unpacked"]);
  });

  it("fails quickly if it is a decompression bomb", () => {
    expect(() => checkExpansion(5_000, 900_000_000)).not.toThrow();
    expect(() => checkExpansion(100_000_000, 2_000_000_000)).not.toThrow();
    expect(() => checkExpansion(5_000_000, 1_100_000_000)).toThrow("it expands to more than 200 times its size");
  });

  it("reports the number of bytes read as progress", async () => {
    const source = await openCorpus(zipOf({ "a.mbox": mbox(30), "b.eml": email() }, "mail.zip"), null);
    const { bytesRead } = await readAll(source);
    expect(bytesRead).toBeGreaterThan(0);
    expect(bytesRead).toBeLessThanOrEqual(source.totalBytes ?? 0);
  });
});

describe("an owner named by the source", () => {
  it("keeps the name, even if another account's folder has it", async () => {
    const db = emptyDb();
    await importFrom(db, join(folderOf(maildir("doe-j", "ann")), "doe-j"));
    await importFrom(db, folderOf({ "maildir/doe-j/inbox/1.": email("x@x.example", "jane.doe@x.example") }));
    expect(namesOf(db)).toEqual([expect.stringMatching(/^\d+\/doe-j$/), "doe-j"]);
  });
});

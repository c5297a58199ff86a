import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, it } from "vitest";
import { BIN, workFolder } from "../art-e.js";

const { artE, write, path } = workFolder();

interface Mail {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly date: string;
  readonly subject: string;
  readonly body: string;
}

/** One's own mail as a mail program exports it: received, sent, from a list, and a note that quotes a `From ` line. */
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

it("one's own mail is imported from an mbox and asked: received, sent and from a list", async () => {
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

it("another's address finds what went between the two, and no more", async () => {
  const ask = async (question: string) =>
    JSON.parse((await artE(["ask", "piet@maas.example", question, "--json", "--quiet"])).stdout);
  expect((await ask("Who has the red bicycle?")).sources[0]?.messageId).toBe("<2@my.example>");
  expect((await ask("Where does the key for the boat house hang?")).sources[0]?.messageId).not.toBe("<1@post.example>");
});

it("an address that is nobody's is answered with the likely ones", async () => {
  const { code, stderr } = await artE(["ask", "mine@my.example", "What?"]);
  expect(code).toBe(2);
  expect(stderr).toContain("The addresses most like it: me@my.example.");
});

it("the same mailbox is there for any MCP client", async () => {
  const client = new Client({ name: "test", version: "1" });
  const args = [BIN, "mcp", "--inbox", "me@my.example", "--db", path("art-e.db")];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  const { resources } = await client.listResources();
  expect(resources.map(({ name }) => name)).toEqual(["Sunday", "Membership fee", "Bicycle", "Key for the boat house"]);
  await client.close();
});

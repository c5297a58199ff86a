import { describe, expect, it } from "vitest";
import { calendarText } from "../../src/mail/calendar.js";
import { parseEmail } from "../../src/mail/mime-body.js";

interface PartText {
  readonly type: string;
  readonly content: string | Buffer;
  readonly headers?: readonly string[];
}

const text = (content: string, type = "text/plain; charset=utf-8", headers: readonly string[] = []): PartText => ({
  type,
  content,
  headers,
});
const attached = (name: string) => `Content-Disposition: attachment; filename="${name}"`;

let made = 0;

/** A mail as mail programs write it, every part in base64. */
function mailOf(parts: readonly PartText[], type = "multipart/mixed", subject = "Numbers"): Buffer {
  const boundary = `b${++made}x`;
  const lines = [
    "From: Ann <ann@plains.example>",
    "To: ben@plains.example",
    "Date: Mon, 14 May 2001 10:00:00 +0000",
    `Subject: ${subject}`,
    "MIME-Version: 1.0",
    `Content-Type: ${type}; boundary=${boundary}`,
    "",
  ];
  for (const part of parts) {
    const isMail = part.type.startsWith("message/rfc822");
    const encoding = isMail ? "8bit" : "base64";
    lines.push(`--${boundary}`, `Content-Type: ${part.type}`, `Content-Transfer-Encoding: ${encoding}`);
    lines.push(...(part.headers ?? []), "");
    lines.push(isMail ? part.content.toString() : Buffer.from(part.content).toString("base64"));
  }
  return Buffer.from([...lines, `--${boundary}--`, ""].join("\r\n"));
}

async function bodyOf(raw: Buffer): Promise<string> {
  const email = await parseEmail(raw);
  if (typeof email === "string") throw new Error(email);
  return email.body;
}

const INVITATION = [
  "BEGIN:VCALENDAR",
  "METHOD:REQUEST",
  "BEGIN:VTIMEZONE",
  "TZID:Europe/Berlin",
  "BEGIN:STANDARD",
  "DTSTART:16010101T030000",
  "END:STANDARD",
  "END:VTIMEZONE",
  "BEGIN:VEVENT",
  "SUMMARY;LANGUAGE=en-us:Budget review\\, second",
  "  round",
  "DTSTART;TZID=Europe/Berlin:20010312T140000",
  "DTEND;TZID=Europe/Berlin:20010312T153000",
  "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;UNTIL=20010401T000000Z",
  "LOCATION:Room 5\\; second floor",
  'ORGANIZER;CN="Hale; Ann":mailto:ann@plains.example',
  "ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;CN=Ben:MAILTO:ben@plains.example",
  "ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:cy@plains.example",
  "DESCRIPTION:Bring numbers.\\nAnd coffee.",
  "BEGIN:VALARM",
  "DESCRIPTION:Reminder",
  "END:VALARM",
  "END:VEVENT",
  "END:VCALENDAR",
].join("\r\n");

const INVITED = [
  "Invitation",
  "",
  "Event: Budget review, second round",
  "When: 2001-03-12 14:00 to 15:30 Europe/Berlin",
  "Repeats: weekly, every 2, on MO, TH, until 2001-04-01",
  "Where: Room 5; second floor",
  "Organizer: Hale; Ann <ann@plains.example>",
  "Attendees: Ben <ben@plains.example> (accepted), cy@plains.example",
  "",
  "Bring numbers.",
  "And coffee.",
].join("\n");

describe("calendar parts", () => {
  it("are read as what, when, where and who", async () => {
    const body = await bodyOf(mailOf([text("See below."), text(INVITATION, "text/calendar; method=REQUEST")]));
    expect(body).toContain(`----- Attachment: text/calendar -----\n\n${INVITED}`);
    const named = mailOf([text("x"), { type: "application/octet-stream; name=a.ics", content: INVITATION }]);
    expect(await bodyOf(named)).toContain(INVITED);
  });

  it.each(["7bit", "base64"])("are so too where one in %s is the whole mail", async (encoding) => {
    const content = encoding === "base64" ? Buffer.from(INVITATION).toString("base64") : INVITATION;
    const headers = ["From: a@b.example", "Content-Type: text/calendar", `Content-Transfer-Encoding: ${encoding}`];
    expect(await bodyOf(Buffer.from(`${headers.join("\r\n")}\r\n\r\n${content}`))).toBe(INVITED);
  });

  it.each([
    ["DTSTART;VALUE=DATE:20010312\nDTEND;VALUE=DATE:20010313", "When: 2001-03-12"],
    ["DTSTART;VALUE=DATE:20010312\nDTEND;VALUE=DATE:20010315", "When: 2001-03-12 to 2001-03-14"],
    ["DTSTART:20010312T140000Z\nDURATION:PT1H30M", "When: 2001-03-12 14:00 UTC for 1 h 30 min"],
    ["DTSTART:20010312T220000Z\nDTEND:20010313T010000Z", "When: 2001-03-12 22:00 to 2001-03-13 01:00 UTC"],
    ["DTSTART:some day\nSTATUS:CANCELLED", "When: some day\nStatus: cancelled"],
  ])("with %j say %j", (lines, said) => {
    const source = `BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x\n${lines}\nEND:VEVENT\nEND:VCALENDAR`;
    expect(calendarText(source)).toBe(`Event: x\n${said}`);
  });

  it("that hold no event, or are cut off, stay as they are", () => {
    for (const source of ["", "no calendar", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x"]) {
      expect(calendarText(source)).toBe(source);
    }
  });
});

describe("attachments", () => {
  it("are listed with name, type and size behind the body, and what is text stands behind the list", async () => {
    const body = await bodyOf(
      mailOf([
        text("Please see below."),
        {
          type: "application/pdf; name=old.pdf",
          content: Buffer.alloc(12_345, 7),
          headers: [attached("Q3 budget.pdf")],
        },
        text("a,b\n1,2\n", "text/csv", [attached("zebra.csv")]),
        {
          type: "image/png; name=logo.png",
          content: "png",
          headers: ["Content-ID: <1>", "Content-Disposition: inline"],
        },
      ]),
    );
    expect(body).toBe(
      [
        "Please see below.",
        "",
        "Attachments:",
        "- Q3 budget.pdf (application/pdf, 12,345 bytes)",
        "- zebra.csv (text/csv, 8 bytes)",
        "- logo.png (image/png, 3 bytes)",
        "",
        "----- Attachment: zebra.csv -----",
        "",
        "a,b",
        "1,2",
      ].join("\n"),
    );
  });

  it.each([
    [
      "in another charset",
      text("", "text/plain; charset=windows-1251", [attached("a.txt")]),
      Buffer.from([0xcc, 0xee]),
      "Мо",
    ],
    ["in no charset, valid UTF-8", text("", "text/plain", [attached("a.txt")]), "Zürich", "Zürich"],
    [
      "in no charset, windows-1252",
      text("", "text/plain", [attached("a.txt")]),
      Buffer.from([0x93, 0xfc, 0x94]),
      "“ü”",
    ],
    ["as UTF-16", text("", "text/plain", [attached("a.txt")]), Buffer.from("\ufeffGrüße", "utf16le"), "Grüße"],
    ["as a type that says nothing", text("", "application/octet-stream", [attached("a.log")]), "failed", "failed"],
    ["as JSON", text("", "application/json", [attached("a.json")]), '{"a":1}', '{"a":1}'],
    ["as HTML", text("", "text/html", [attached("a.html")]), "<p>Caf&eacute;</p>", "Café"],
    [
      "as a calendar entry",
      text("", "text/calendar; method=REQUEST"),
      "BEGIN:VCALENDAR\r\nEND:VCALENDAR",
      "BEGIN:VCALENDAR\nEND:VCALENDAR",
    ],
  ])("are read %s", async (_how, part, content, read) => {
    const body = await bodyOf(mailOf([text("See below."), { ...part, content }]));
    expect(body.split(/^----- Attachment: .* -----\n\n/m)[1]).toBe(read);
  });

  it.each([
    ["rich text", "text/rtf", "a.rtf", "{\\rtf1 zebra}"],
    ["bytes that call themselves text", "text/plain", "a.txt", "zebra\0\0\x01"],
    ["a program", "application/octet-stream", "a.exe", "zebra"],
  ])("that are %s are listed, not read", async (_what, type, name, content) => {
    const body = await bodyOf(mailOf([text("See below."), text(content, type, [attached(name)])]));
    expect(body).toBe(`See below.\n\nAttachments:\n- ${name} (${type}, ${content.length} bytes)`);
  });

  it("that are texts within the body are listed, and not repeated", async () => {
    const inline = text("the notes", "text/plain; name=notes.txt", ["Content-Disposition: inline; filename=notes.txt"]);
    const body = await bodyOf(mailOf([text("Notes:"), inline]));
    expect(body).toBe("Notes:\nthe notes\n\nAttachments:\n- notes.txt (text/plain, 9 bytes)");
  });

  it("have names on one line, whatever is in them, and may have none", async () => {
    const encoded = "=?utf-8?B?R3LDvMOfZSAyMDAx?=.pdf";
    const body = await bodyOf(
      mailOf([
        text("See below."),
        text("x", "application/pdf", [attached(encoded)]),
        text("x", "application/pdf", [`Content-Disposition: attachment; filename*=utf-8''a%0A%0A-%20b.pdf`]),
        text("x", "application/pdf"),
      ]),
    );
    expect(body.split("\n").slice(2)).toEqual([
      "Attachments:",
      "- Grüße 2001.pdf (application/pdf, 1 byte)",
      "- a - b.pdf (application/pdf, 1 byte)",
      "- (no name) (application/pdf, 1 byte)",
    ]);
  });

  it("are all there is in a mail that is one file", async () => {
    const one = (type: string, disposition: string) =>
      Buffer.from(`Subject: x\nContent-Type: ${type}\n${disposition}\n\nzebra\n`);
    expect(await bodyOf(one("application/pdf; name=a.pdf", "X-None: 1"))).toContain(
      "- a.pdf (application/pdf, 6 bytes)",
    );
    expect(await bodyOf(one("text/plain", attached("a.txt")))).toBe(
      "Attachments:\n- a.txt (text/plain, 6 bytes)\n\n----- Attachment: a.txt -----\n\nzebra",
    );
  });

  it("of a million characters and more are cut, and say so", async () => {
    const body = await bodyOf(
      mailOf([text("See below."), text("x".repeat(1_000_010), "text/plain", [attached("a.txt")])]),
    );
    expect(body).toMatch(/x\n\[cut here: 10 more characters\]$/);
  });
});

describe("a forwarded mail", () => {
  const inner = mailOf(
    [text("The zebra is striped."), text("k,v", "text/csv", [attached("inner.csv")])],
    "multipart/mixed",
    "Stripes",
  );

  it.each([
    ["attached", ["Content-Disposition: attachment; filename=stripes.eml"], "- stripes.eml (message/rfc822"],
    ["inline", ["Content-Disposition: inline"], "- (no name) (message/rfc822"],
    ["without a disposition", [], "- (no name) (message/rfc822"],
  ])("that is %s stands behind the body with its header and its own attachments", async (_how, headers, listed) => {
    const body = await bodyOf(mailOf([text("FYI"), { type: "message/rfc822", content: inner, headers }]));
    expect(body).toContain(listed);
    expect(body).toContain(
      [
        "----- Forwarded mail: Stripes -----",
        "",
        "From: ann@plains.example",
        "To: ben@plains.example",
        "Date: 2001-05-14T10:00:00Z",
        "Subject: Stripes",
        "",
        "The zebra is striped.",
        "",
        "Attachments:",
        "- inner.csv (text/csv, 3 bytes)",
        "",
        "----- Attachment: inner.csv -----",
        "",
        "k,v",
      ].join("\n"),
    );
    expect(body.split("The zebra is striped.")).toHaveLength(2);
  });

  it("in a digest, and as a file whose type says nothing, is one too", async () => {
    const digest = mailOf([text("one"), { type: "message/rfc822", content: inner }], "multipart/digest");
    expect(await bodyOf(digest)).toContain("----- Forwarded mail: Stripes -----");
    const file = { type: "application/octet-stream", content: inner, headers: [attached("stripes.eml")] };
    expect(await bodyOf(mailOf([text("FYI"), file]))).toContain("----- Forwarded mail: Stripes -----");
  });

  it("in a forwarded mail in a forwarded mail is read five deep, and listed deeper", async () => {
    let raw = mailOf([text("innermost zebra")], "multipart/mixed", "level 0");
    for (let level = 1; level <= 7; level++) {
      raw = mailOf(
        [text(`body ${level}`), { type: "message/rfc822", content: raw }],
        "multipart/mixed",
        `level ${level}`,
      );
    }
    const body = await bodyOf(raw);
    for (const level of [6, 5, 4, 3, 2]) expect(body).toContain(`----- Forwarded mail: level ${level} -----`);
    expect(body).not.toContain("level 1");
    expect(body.match(/message\/rfc822/g)).toHaveLength(6);
  });

  it("without a header is kept as text", async () => {
    const body = await bodyOf(mailOf([text("FYI"), { type: "message/rfc822", content: "no header here" }]));
    expect(body).toBe(
      "FYI\n\nAttachments:\n- (no name) (message/rfc822, 15 bytes)\n\n----- Attachment: message/rfc822 -----\n\nno header here",
    );
  });

  it("returned by a mail server is kept with the report", async () => {
    const report = { type: "message/delivery-status", content: "Final-Recipient: rfc822; cat@plains.example\n" };
    const body = await bodyOf(
      mailOf([text("Undeliverable."), report, { type: "message/rfc822", content: inner }], "multipart/report"),
    );
    expect(body).toContain(
      "----- Attachment: message/delivery-status -----\n\nFinal-Recipient: rfc822; cat@plains.example",
    );
    expect(body).toContain("----- Forwarded mail: Stripes -----");
  });
});

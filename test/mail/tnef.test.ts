import { describe, expect, it } from "vitest";
import { parseEmail } from "../../src/mail/mime/parse-email.js";
import { rtfToText } from "../../src/mail/mime/rtf-text.js";
import { readTnef } from "../../src/mail/mime/tnef.js";

// TNEF in the layout of [MS-OXTNEF] 2.1: attributes with a level, a tag, a length, a value and a checksum.

const u16 = (value: number) => Buffer.from(Uint16Array.of(value).buffer);
const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
const padded = (value: Buffer) => Buffer.concat([value, Buffer.alloc((4 - (value.length % 4)) % 4)]);

const attribute = (level: 1 | 2, id: number, value: Buffer) =>
  Buffer.concat([Buffer.of(level), u16(id), u16(6), u32(value.length), value, u16(value.reduce((a, b) => a + b, 0))]);
const message = (id: number, value: Buffer) => attribute(1, id, value);
const attachment = (id: number, value: Buffer) => attribute(2, id, value);
const tnef = (...attributes: Buffer[]) => Buffer.concat([u32(0x223e9f78), u16(1), ...attributes]);

const variable = (type: number) => (id: number, value: Buffer) =>
  Buffer.concat([u16(type), u16(id), u32(1), u32(value.length), padded(value)]);
const string8 = variable(0x1e);
const binary = variable(0x102);
const object = variable(0x0d);
const wide = (id: number, text: string) => variable(0x1f)(id, Buffer.from(`${text}\0`, "utf16le"));
const integer = (id: number, value: number) => Buffer.concat([u16(3), u16(id), u32(value)]);
const properties = (...list: Buffer[]) => Buffer.concat([u32(list.length), ...list]);

const START_ATTACHMENT = attachment(0x9002, Buffer.alloc(14));
const rtfProperty = (rtf: string) =>
  binary(0x1009, Buffer.concat([u32(rtf.length + 12), u32(rtf.length), u32(0x414c454d), u32(0), Buffer.from(rtf)]));

const mail = (parts: string) =>
  `From: a@plains.example\nSubject: x\nContent-Type: multipart/mixed; boundary=b\n\n${parts}--b--\n`;
const textPart = (text: string) => `--b\nContent-Type: text/plain\n\n${text}\n`;
const winmail = (data: Buffer) =>
  `--b\nContent-Type: application/ms-tnef; name="winmail.dat"\nContent-Transfer-Encoding: base64\n\n${data.toString("base64")}\n`;

async function bodyOf(raw: string): Promise<string> {
  const email = await parseEmail(Buffer.from(raw));
  if (typeof email === "string") throw new Error(email);
  return email.body;
}

describe("readTnef", () => {
  it("reads the plain text and its code page", () => {
    const codePage = message(0x9007, Buffer.concat([u32(1251), u32(0)]));
    expect(readTnef(tnef(codePage, message(0x800c, Buffer.from("cff0e8e2e5f200", "hex"))))?.body).toEqual({
      type: "text/plain",
      text: "Привет",
    });
  });

  it("reads a Unicode body that follows named properties and lists", () => {
    const guid = Buffer.alloc(16, 7);
    const named = Buffer.concat([u16(0x1f), u16(0x8001), guid, u32(1), u32(6), padded(Buffer.from("ab\0", "utf16le"))]);
    const numbered = Buffer.concat([u16(3), u16(0x8002), guid, u32(0), u32(34_048), u32(5)]);
    const name = Buffer.concat([named, u32(1), u32(4), Buffer.from("x\0", "utf16le")]);
    const list = Buffer.concat([u16(0x1003), u16(0x6001), u32(2), u32(1), u32(2)]);
    const all = properties(name, numbered, list, wide(0x1000, "Grüße"));
    expect(readTnef(tnef(message(0x9003, all)))?.body).toEqual({ type: "text/plain", text: "Grüße" });
  });

  it("reads HTML in its code page", () => {
    const all = properties(integer(0x3fde, 1252), binary(0x1013, Buffer.from("<p>Gr\xfc\xdfe</p>", "latin1")));
    expect(readTnef(tnef(message(0x9003, all)))?.body).toEqual({ type: "text/html", text: "<p>Grüße</p>" });
  });

  it("decompresses the example in [MS-OXRTFCP] 4.1", () => {
    const compressed = Buffer.from(
      "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0",
      "hex",
    );
    const all = properties(binary(0x1009, compressed));
    const body = { type: "text/plain", text: "hello world" };
    expect(readTnef(tnef(message(0x9003, all)))).toMatchObject({ body, isDamaged: false });
  });

  it("reports an unknown attribute, the beginning of one, and none at all", () => {
    const [body, title] = [message(0x800c, Buffer.from("plums\0")), attachment(0x8010, Buffer.from("a.txt\0"))];
    const whole = tnef(body, START_ATTACHMENT, title);
    const damaged = [
      tnef(message(0x900c, Buffer.from("plums\0")), START_ATTACHMENT, title),
      tnef(),
      ...Array.from({ length: 8 }, (_, i) => whole.subarray(0, whole.length - title.length + i + 1)),
    ];
    expect(damaged.map((data) => readTnef(data)?.isDamaged)).toEqual(damaged.map(() => true));
    for (const intact of [whole, Buffer.concat([whole, Buffer.from("\r\n")])]) {
      expect(readTnef(intact)?.isDamaged).toBe(false);
    }
  });

  it("reports wrong checksums of attributes and of compressed RTF, and truncation", () => {
    const whole = tnef(message(0x800c, Buffer.from("plums\0")));
    expect(readTnef(whole)?.isDamaged).toBe(false);
    const changed = Buffer.from(whole);
    changed.write("pears", whole.indexOf("plums"));
    const rtf = "2d0000002b0000004c5a4675f1c5c7a803000a007263706731323542320af32068656c090020627705b06c647d0a800fa0";
    const wrongRtf = tnef(message(0x9003, properties(binary(0x1009, Buffer.from(rtf, "hex")))));
    for (const damaged of [changed, whole.subarray(0, -3), wrongRtf]) {
      expect(readTnef(damaged)?.isDamaged).toBe(true);
    }
  });

  it("lists attachments by their long names, otherwise by their titles", () => {
    const data = tnef(
      START_ATTACHMENT,
      attachment(0x8010, Buffer.from("LONGNA~1.TXT\0")),
      attachment(0x800f, Buffer.from("one")),
      attachment(0x9005, properties(wide(0x3707, "long name.txt"), string8(0x370e, Buffer.from("text/plain\0")))),
      START_ATTACHMENT,
      attachment(0x8010, Buffer.from("B.DOC\0")),
      attachment(0x800f, Buffer.from("two")),
    );
    expect(readTnef(data)?.attachments).toEqual([
      { name: "long name.txt", type: "text/plain", content: Buffer.from("one") },
      { name: "B.DOC", type: "", content: Buffer.from("two") },
    ]);
  });

  it("returns null for other data, and the readable part of damaged data", () => {
    expect(readTnef(Buffer.from("hello world"))).toBeNull();
    const data = tnef(message(0x800c, Buffer.from("text")), message(0x9003, properties(wide(0x1013, "<p>x</p>"))));
    for (let length = 6; length < data.length; length++) expect(readTnef(data.subarray(0, length))).not.toBeNull();
    expect(readTnef(data.subarray(0, 25))?.body?.text).toBe("text");
    expect(readTnef(tnef(message(0x9003, Buffer.alloc(8, 0xff))))).toMatchObject({ body: null, attachments: [] });
  });
});

describe("an email that contains winmail.dat", () => {
  const text = "The pipeline is closed on Monday.";
  const withText = tnef(message(0x9003, properties(rtfProperty(`{\\rtf1\\ansi ${text}\\par}`))));

  it("gets its text from there if it has no other", async () => {
    expect(await bodyOf(mail(winmail(withText)))).toBe(text);
    const whole = `Subject: x\nContent-Type: application/ms-tnef\nContent-Transfer-Encoding: base64\n\n`;
    expect(await bodyOf(`${whole}${withText.toString("base64")}`)).toBe(text);
  });

  it("keeps its text part, and does not repeat the text", async () => {
    expect(await bodyOf(mail(textPart(text) + winmail(withText)))).toBe(text);
  });

  it("keeps both the text and a short footer", async () => {
    expect(await bodyOf(mail(winmail(withText) + textPart("List: gas-l")))).toBe(`${text}\n\nList: gas-l`);
  });

  it("lists and reads the attachments in winmail.dat", async () => {
    const inner = tnef(message(0x9003, properties(wide(0x37, "Prices"), wide(0x0c1a, "Mia"), wide(0x1000, "3.20"))));
    const data = tnef(
      message(0x800c, Buffer.from(text)),
      START_ATTACHMENT,
      attachment(0x800f, Buffer.from("a;b\n1;2\n")),
      attachment(0x9005, properties(wide(0x3707, "table.csv"))),
      START_ATTACHMENT,
      attachment(0x9005, properties(object(0x3701, Buffer.concat([Buffer.alloc(16), inner])))),
    );
    expect(await bodyOf(mail(winmail(data)))).toBe(
      [
        `${text}\n\nAttachments:\n- table.csv (application/octet-stream, 8 bytes)`,
        `- (no name) (message/rfc822, 88 bytes)\n\n----- Attachment: table.csv -----\n\na;b\n1;2`,
        `\n----- Forwarded mail: Prices -----\n\nFrom: mia\nTo: \nSubject: Prices\n\n3.20`,
      ].join("\n"),
    );
  });

  it("says in its text that winmail.dat is damaged", async () => {
    const data = tnef(message(0x800c, Buffer.from("Two plums.\0")));
    data.write("pears", data.indexOf("plums"));
    expect(await bodyOf(mail(winmail(data)))).toBe(
      "Two pears.\n\n[The part in Outlook's format is damaged: text can be wrong or missing.]",
    );
  });

  it("lists winmail.dat as an attachment if it cannot be read", async () => {
    expect(await bodyOf(mail(textPart("Hi") + winmail(Buffer.from("no TNEF"))))).toBe(
      "Hi\n\nAttachments:\n- winmail.dat (application/ms-tnef, 7 bytes)",
    );
  });
});

describe("rtfToText", () => {
  it.each([
    ["paragraphs, tabs and dashes", "{\\rtf1 One\\par Two\\tab 2\\emdash 3\\line\r\nend}", "One\nTwo\t2—3\nend"],
    ["escaped characters", "{\\rtf1 a\\{b\\}c\\\\d\\~e\\_f\\-g}", "a{b}c\\d e-fg"],
    ["Unicode with a replacement", "{\\rtf1\\uc1 caf\\u233?s \\u8364 ?{\\uc2\\u-4064 ??}}", "cafés €\uf020"],
    ["bytes in the code page of the document", "{\\rtf1\\ansicpg1251 \\'cf\\'f0\\'e8}", "При"],
    ["two-byte characters", "{\\rtf1\\ansicpg932 \\'83e\\'83X\\'83g}", "テスト"],
    ["the code page of a font", "{\\rtf1{\\fonttbl{\\f0 A;}{\\f1\\fcharset204 B;}}a{\\f1 \\'cf}\\'e9}", "aПé"],
    ["text, but not tables and pictures", "{\\rtf1{\\colortbl;\\red1;}{\\*\\gen x;}{\\pict\\bin3 }{}}b}", "b"],
    [
      "HTML in RTF without its tags",
      "{\\rtf1\\ansi\\fromhtml1{\\*\\htmltag64 <p>}Gas{\\*\\htmltag84 &nbsp;}\\htmlrtf \\'a0\\htmlrtf0 up\\htmlrtf\\par\\htmlrtf0{\\*\\htmltag72 </p>}}",
      "Gas\u00a0up\n",
    ],
    ["text without a closing brace", "{\\rtf1 cut", "cut"],
  ])("reads %s", (_what, rtf, text) => {
    expect(rtfToText(Buffer.from(rtf, "latin1"))).toBe(text);
  });
});

import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { parseEmail } from "../../src/mail/mime/parse-email.js";

/** CMS (RFC 5652) in DER, or, if `indefinite`, in the BER of programs that stream. */
function element(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  if (content.length < 128) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([Buffer.from([tag, 0x84]), length, content]);
}

const indefinite = (tag: number, ...contents: Buffer[]) =>
  Buffer.concat([Buffer.from([tag, 0x80]), ...contents, Buffer.from([0, 0])]);

const SIGNED = "06092a864886f70d010702";
const ENVELOPED = "06092a864886f70d010703";
const COMPRESSED = "060b2a864886f70d0109100109";
const DATA = "06092a864886f70d010701";

type Build = (tag: number, ...contents: Buffer[]) => Buffer;

function cms(type: string, octets: Buffer | null, build: Build = element): Buffer {
  const algorithms = element(0x31);
  const content = octets === null ? [] : [build(0xa0, octets)];
  const info = build(0x30, Buffer.from(DATA, "hex"), ...content);
  const certificates = element(0xa0, Buffer.alloc(300, 7));
  const data = build(0x30, element(0x02, Buffer.from([1])), algorithms, info, certificates);
  return build(0x30, Buffer.from(type, "hex"), build(0xa0, data));
}

const ENTITY = Buffer.from(
  `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nGrün is signed.\r\n--b\r\nContent-Type: text/csv; name=a.csv\r\nContent-Disposition: attachment\r\n\r\n1,2\r\n--b--\r\n`,
);
const TEXT = "Grün is signed.\n\nAttachments:\n- a.csv (text/csv, 3 bytes)\n\n----- Attachment: a.csv -----\n\n1,2";

const string = (octets: Buffer) => element(0x04, octets);
const pieces = indefinite(0x24, string(ENTITY.subarray(0, 50)), indefinite(0x24, string(ENTITY.subarray(50))));

async function bodyOf(content: Buffer, type = "application/pkcs7-mime; name=smime.p7m", encoding = "base64") {
  const body = encoding === "binary" ? content : Buffer.from(content.toString("base64").replace(/.{76}/g, "$&\r\n"));
  const head = `From: a@x.example\r\nContent-Type: ${type}\r\n${encoding === "" ? "" : `Content-Transfer-Encoding: ${encoding}\r\n`}\r\n`;
  const email = await parseEmail(Buffer.concat([Buffer.from(head), body]));
  return typeof email === "string" ? email : email.body;
}

describe("an opaque S/MIME part", () => {
  it.each([
    ["in DER", cms(SIGNED, string(ENTITY))],
    ["in pieces", cms(SIGNED, pieces, indefinite)],
    ["compressed", cms(COMPRESSED, string(deflateSync(ENTITY)))],
  ])("reads like the signed entity if it is %s", async (_how, content) => {
    expect(await bodyOf(content)).toBe(TEXT);
  });

  it("can have its older and generic types, and undeclared encodings", async () => {
    const content = cms(SIGNED, string(ENTITY));
    expect(await bodyOf(content, "application/x-pkcs7-mime")).toBe(TEXT);
    expect(await bodyOf(content, 'application/octet-stream; name="smime.p7m"')).toBe(TEXT);
    expect(await bodyOf(content, undefined, "binary")).toBe(TEXT);
    expect(await bodyOf(content, undefined, "")).toBe(TEXT);
  });

  it("can be inside another one", async () => {
    const inner = Buffer.concat([
      Buffer.from("Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: binary\r\n\r\n"),
      cms(SIGNED, string(ENTITY)),
    ]);
    expect(await bodyOf(cms(SIGNED, string(inner)))).toBe(TEXT);
  });

  it("ends where a truncated email ends", async () => {
    const content = cms(SIGNED, string(Buffer.from("Content-Type: text/plain\r\n\r\nThe start of a long text")));
    expect(await bodyOf(content.subarray(0, 90), undefined, "binary")).toMatch(/^The st/);
  });

  it.each([
    ["only certificates", cms(SIGNED, null)],
    ["damaged data", Buffer.from("3080060000ff", "hex")],
    ["no CMS", Buffer.from("hello")],
    ["damaged compressed data", cms(COMPRESSED, string(Buffer.from("no zlib")))],
    ["endlessly nested data", Buffer.alloc(200_000, Buffer.from([0x30, 0x80]))],
  ])("stays an attachment if it contains %s", async (_what, content) => {
    expect(await bodyOf(content)).toMatch(/^Attachments:\n- smime\.p7m \(application\/pkcs7-mime, [\d,]+ bytes\)$/);
  });

  it("stays an attachment if it decompresses to more than an email can have", async () => {
    const bomb = cms(COMPRESSED, string(deflateSync(Buffer.alloc(65 * 1024 * 1024))));
    expect(await bodyOf(bomb)).toMatch(/^Attachments:/);
  });
});

describe("an encrypted email", () => {
  it("names S/MIME as its encryption", async () => {
    expect(await bodyOf(cms(ENVELOPED, null))).toMatch(
      /^\[Encrypted with S\/MIME: the text cannot be read\.\]\n\nAttachments:\n- smime\.p7m/,
    );
  });

  it("names OpenPGP as its encryption (RFC 3156 4)", async () => {
    const raw = [
      "From: a@x.example",
      'Content-Type: multipart/encrypted; protocol="application/pgp-encrypted"; boundary=b',
      "",
      "--b",
      "Content-Type: application/pgp-encrypted",
      "",
      "Version: 1",
      "--b",
      "Content-Type: application/octet-stream; name=encrypted.asc",
      "",
      "-----BEGIN PGP MESSAGE-----",
      "--b--",
    ].join("\r\n");
    const email = await parseEmail(Buffer.from(raw));
    expect(email).toMatchObject({
      body: expect.stringMatching(/^\[Encrypted with OpenPGP: the text cannot be read\.\]/),
    });
  });
});

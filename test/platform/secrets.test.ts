import { describe, expect, it } from "vitest";
import { longestSecret, redact, redactBytes, redactEnd, redactJson } from "../../src/platform/secrets.js";

const SECRET = "pass/wörd+42!";
const SECRETS = [SECRET];

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Breaks a text into lines of a fixed length, like `base64` and `xxd -p`. */
const wrapped = (text: string, columns: number) => text.match(new RegExp(`.{1,${columns}}`, "g"))?.join("\n") ?? "";

/** Whether a base64 text reveals any four consecutive bytes of the secret. */
function leaks(text: string): boolean {
  const read = text
    .split("[secret]")
    .flatMap((part) =>
      [0, 1, 2, 3].map((skip) => Buffer.from(part.replace(/\s/g, "").slice(skip), "base64").toString()),
    );
  return read.some((bytes) => [0, 4].some((at) => bytes.includes(SECRET.slice(at, at + 4))));
}

describe("redact on a secret in base64", () => {
  it.each([0, 1, 2, 3, 4, 5].flatMap((before) => [0, 1, 2].map((after) => [before, after] as const)))(
    "replaces the secret if %i characters come before and %i after it",
    (before, after) => {
      const text = base64(`${"x".repeat(before)}${SECRET}${"y".repeat(after)}`);
      expect(leaks(text)).toBe(true);
      expect(redact(text, SECRETS)).toContain("[secret]");
      expect(leaks(redact(text, SECRETS))).toBe(false);
      const url = text.replaceAll("+", "-").replaceAll("/", "_");
      expect(redact(url, SECRETS)).toContain("[secret]");
    },
  );

  it.each([4, 7, 19])("replaces the secret in lines of %i characters", (columns) => {
    const text = wrapped(base64(`{"user": "me", "key": "${SECRET}"}`), columns);
    expect(leaks(redact(text, SECRETS))).toBe(false);
    expect(redactJson({ stdout: text }, SECRETS)).toEqual({ stdout: redact(text, SECRETS) });
    expect(leaks(redact(JSON.stringify(text).replaceAll("\\n", "\n"), SECRETS))).toBe(false);
  });
});

it.each([
  ["hex", Buffer.from(SECRET).toString("hex")],
  ["hex in upper case", Buffer.from(SECRET).toString("hex").toUpperCase()],
  ["hex in groups, as printed by od", wrapped(Buffer.from(SECRET).toString("hex").replace(/../g, " $&"), 12)],
  ["a URL", encodeURIComponent(SECRET)],
  ["a form", new URLSearchParams({ a: SECRET }).toString().slice(2)],
  ["a URL from Python's quote", encodeURIComponent(SECRET).replaceAll("%2F", "/")],
  ["a URL with lower-case escapes", encodeURIComponent(SECRET).replace(/%../g, (code) => code.toLowerCase())],
  ["JSON", JSON.stringify(SECRET).slice(1, -1)],
])("redact replaces a secret in %s", (_, text) => {
  expect(redact(`before ${text} after`, SECRETS).replace(/\s+/g, " ")).toBe("before [secret] after");
});

it("redactBytes replaces a secret in the bytes of a file", () => {
  const bytes = Buffer.from(`key=${SECRET}\n${base64(`a${SECRET}`)}\n`).toString("latin1");
  expect(redactBytes(bytes, SECRETS)).toMatch(/^key=\[secret\]\n..\[secret\].{0,3}\n$/);
});

it("redact does not change text without secrets, or short values in base64", () => {
  const text = `some text, ${base64("some text")}\n${"6f".repeat(40)}\n`;
  expect(redact(text, SECRETS)).toBe(text);
  expect(redact(base64("abcd"), ["abcd"])).toBe(base64("abcd"));
  expect(redact(text, [])).toBe(text);
});

it("redactEnd shows no partial secret in a truncated text", () => {
  const kept = `${SECRET.slice(4)}${"x".repeat(longestSecret(SECRETS))} end`;
  expect(redactEnd(kept, true, 100, SECRETS)).not.toContain(SECRET.slice(-4));
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitMessage, withLineFeeds } from "../../src/mail/mime.js";

const PIECES = ["Subject", "subject", "To", "Cc", "X-To", "Received", ":", ": ", " ", "\t", "\r\n", "\n", "\r", "a@x"];
const anyText = fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join(""));

describe("line ends", () => {
  it("CRLF, LF and CR all become LF, as by one pattern", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(withLineFeeds(text)).toBe(text.replace(/\r\n?/g, "\n"));
      }),
    );
  });
});

describe("header fields", () => {
  /** RFC 5322 2.2.3 step by step: line ends, unfolding, lines, fields. */
  function fieldsOf(header: string, names: readonly string[]): [string, string[]][] {
    const lines = header
      .replace(/\r\n?/g, "\n")
      .replace(/\n(?=[ \t])/g, "")
      .split("\n");
    const fields = lines.flatMap((line) => {
      const [, name = "", value = ""] = /^([^:]+):(.*)$/s.exec(line) ?? [];
      return names.includes(name.trimEnd().toLowerCase()) ? [[name.trimEnd().toLowerCase(), value.trim()]] : [];
    });
    return names.flatMap((name) => {
      const values = fields.filter(([found]) => found === name).map(([, value = ""]) => value);
      return values.length === 0 ? [] : [[name, values]];
    });
  }

  it("are unfolded and gathered by name, whatever stands between them", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        // Without blank lines, which would end the header.
        const header = `From: a@x\n${text}`.replace(/[\r\n]{2,}/g, "\r\n").trimEnd();
        const { headers } = splitMessage(Buffer.from(`${header}\n\nSubject: in the body`));
        const names = ["subject", "to", "cc"];
        const found = names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)]] : []));
        expect(found).toEqual(fieldsOf(header, names));
      }),
      { numRuns: 2_000 },
    );
  });
});

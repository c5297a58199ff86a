import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { directoryEnd, directoryEntry, dosTime, localHeader, ZipWriter } from "../../src/trace-formats/zip-writer.js";

const folder = mkdtempSync(join(tmpdir(), "art-e-"));
afterAll(() => rmSync(folder, { recursive: true }));

const LIST = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as file:
    entries = file.infolist()
    some = [entries[0], entries[len(entries) // 2], entries[-1]]
    print(json.dumps([len(entries), [[e.filename, file.read(e).decode(), e.date_time] for e in some]]))
`;

/** How many entries Python's zipfile finds, and the first, middle and last of them, of which it checks the CRC. */
function readByPython(path: string): unknown {
  return JSON.parse(execFileSync("/usr/bin/python3", ["-c", LIST, path], { encoding: "utf8" }));
}

const TIME = [2026, 1, 2, 3, 4, 4];

const TEXT = '{"text":"é"}';

function zipOf(count: number): string {
  const zip = new ZipWriter("2026-01-02T03:04:05.000Z");
  const text = Buffer.from(TEXT);
  const deflated = { size: text.length, crc: crc32(text), chunks: [deflateRawSync(text)] };
  for (let i = 1; i < count; i++) zip.add(`samples/é${i}.json`, deflated);
  zip.addText("header.json", TEXT);
  zip.end();
  const path = join(folder, `${count}.zip`);
  writeFileSync(path, Buffer.concat(zip.take()));
  return path;
}

describe("a zip file", () => {
  it.each([2, 65_534, 65_535, 65_600])("of %d entries is read by Python", (count) => {
    const [found, [first, , last]] = readByPython(zipOf(count)) as [number, unknown[]];
    expect([found, first, last]).toEqual([count, ["samples/é1.json", TEXT, TIME], ["header.json", TEXT, TIME]]);
  });

  it("with an entry behind 4 GB is read by Python", () => {
    const path = join(folder, "large.zip");
    const text = Buffer.from("far away");
    const data = deflateRawSync(text);
    const entry = { name: Buffer.from("far.txt"), crc: crc32(text), size: text.length, deflatedSize: data.length };
    const placed = { ...entry, offset: 5_000_000_000, time: dosTime(new Date("2026-01-02T03:04:05Z")) };
    const [head, line] = [localHeader(placed), directoryEntry(placed)];
    const start = placed.offset + head.length + data.length;
    const file = openSync(path, "w");
    // The file has a hole before it, which takes no room on the disk.
    writeSync(
      file,
      Buffer.concat([head, data, line, directoryEnd(1, start, line.length)]),
      0,
      undefined,
      placed.offset,
    );
    closeSync(file);
    expect(readByPython(path)).toEqual([1, Array(3).fill(["far.txt", "far away", TIME])]);
  });
});

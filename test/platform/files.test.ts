import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { checkWritable, readNamedText, replaceFile, writeFileAtomically } from "../../src/platform/files.js";
import { importSource } from "../import-source.js";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "write-file-"));
  file = join(folder, "out.json");
});
afterEach(() => rmSync(folder, { recursive: true }));

it("replaceFile replaces an entire file, and leaves no other file next to it", async () => {
  writeFileSync(file, "before");
  await writeFileAtomically(file, ["a", "b", "c"]);
  expect(readFileSync(file, "utf8")).toBe("abc");
  expect(readdirSync(folder)).toEqual(["out.json"]);
});

it("replaceFile writes many pieces in order", async () => {
  const pieces = Array.from({ length: 5_000 }, (_, i) => `${"é".repeat(i % 100)}${i}\n`);
  await writeFileAtomically(file, pieces);
  expect(readFileSync(file, "utf8")).toBe(pieces.join(""));
});

it("writeFileAtomically leaves the file unchanged if producing its content fails", async () => {
  writeFileSync(file, "before");
  function* breaking() {
    yield "half";
    throw new Error("broken off");
  }
  await expect(writeFileAtomically(file, breaking())).rejects.toThrow("broken off");
  expect(readFileSync(file, "utf8")).toBe("before");
  expect(readdirSync(folder)).toEqual(["out.json"]);
});

it("writeFileAtomically reports an unwritable file, and says that nothing is lost", async () => {
  await expect(writeFileAtomically(join(folder, "no", "out.json"), ["a"])).rejects.toThrow(
    expect.objectContaining({ exitCode: 1, hint: expect.stringContaining("is still in the database") }),
  );
});

it("writeFileAtomically writes to a pipe, and does not replace it", async () => {
  const pipe = join(folder, "pipe");
  execFileSync("sh", ["-c", `mkfifo "${pipe}"`]);
  checkWritable("--output", pipe);
  const reader = spawn("cat", [pipe], { stdio: ["ignore", "pipe", "ignore"] });
  const got = text(reader.stdout);
  await writeFileAtomically(pipe, ["a", "b"]);
  expect(await got).toBe("ab");
  expect(statSync(pipe).isFIFO()).toBe(true);
  expect(readdirSync(folder)).toEqual(["pipe"]);
});

it("checkWritable rejects unwritable paths in advance, and names the flag", () => {
  mkdirSync(join(folder, "folder"));
  writeFileSync(file, "");
  for (const path of [join(folder, "no", "out"), join(folder, "folder"), join(file, "out")]) {
    expect(() => checkWritable("--record", path), path).toThrow(/^--record: /);
  }
  expect(() => checkWritable("--record", file)).not.toThrow();
  expect(() => checkWritable("--record", join(folder, "new"))).not.toThrow();
});

it("replaceFile accepts bytes and text, and leaves one complete file if several writers are concurrent", async () => {
  await replaceFile(file, ["a", Buffer.from("é"), "b"]);
  expect(readFileSync(file, "utf8")).toBe("aéb");
  await Promise.all(
    Array.from({ length: 20 }, (_, i) => replaceFile(file, [`${i}`.repeat(1_000)], { sync: i % 2 === 0 })),
  );
  expect(readFileSync(file, "utf8")).toMatch(/^(\d+?)\1{999}$/);
  expect(readdirSync(folder)).toEqual(["out.json"]);
});

it("writeFileAtomically leaves no temporary file if the process ends during a write", () => {
  const script = `${importSource("platform/files", "replaceFile")}
    function* pieces() { yield "x".repeat(100_000); process.exit(3); }
    await replaceFile(${JSON.stringify(file)}, pieces());`;
  expect(spawnSync(process.execPath, ["--input-type=module", "-e", script]).status).toBe(3);
  expect(readdirSync(folder)).toEqual([]);
});

it("readNamedText leaves out a byte order mark", () => {
  writeFileSync(file, "\ufeff[1]");
  expect(readNamedText(file)).toBe("[1]");
});

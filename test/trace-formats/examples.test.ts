import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EXPORTS, needs } from "../machine-requirements.js";
import { readArtGroups } from "./art-reader.js";
import { readAtif } from "./atif-reader.js";
import { readChats } from "./chat-reader.js";
import { readEvalFile, readJsonLog } from "./inspect-reader.js";
import { readOtlp } from "./otlp-reader.js";

/** The readers of the tests take what the formats' own readers take, and refuse what those refuse. */

const READERS: Readonly<Record<string, (bytes: Buffer, name: string) => unknown>> = {
  art: (bytes) => readArtGroups(bytes.toString()),
  atif: (bytes) => readAtif(bytes.toString()),
  otel: (bytes) => readOtlp(bytes.toString()),
  "openai-sft": (bytes, name) => readChats(bytes.toString(), name.includes("hf") ? "hf" : "openai"),
  inspect: (bytes, name) =>
    name.endsWith(".eval") ? readEvalFile(bytes, "python") : readJsonLog(bytes.toString(), "python"),
};

describe("examples", needs("exports"), () => {
  it.each(Object.entries(READERS))("of %s", (folder, read) => {
    const path = join(EXPORTS, "examples", folder);
    const names = readdirSync(path);
    expect(names.filter((name) => name.includes("broken")).length).toBeGreaterThan(5);
    for (const name of names) {
      const use = () => read(readFileSync(join(path, name)), name);
      if (name.includes("broken")) expect(use, name).toThrow();
      else expect(use, name).not.toThrow();
    }
  });

  it("of Inspect, of which the least is not enough for the viewer", () => {
    const path = join(EXPORTS, "examples/inspect");
    const read = (name: string) => readJsonLog(readFileSync(join(path, name), "utf8"), "viewer");
    expect(() => read("2026-11-20T09-00-00_art-e_tAsK1.json")).not.toThrow();
    expect(() => read("2026-11-20T09-00-01_least_x.json")).toThrow();
  });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { BIN, MAIL, QUESTIONS, workFolder } from "../art-e.js";

const { artE, path, read, write } = workFolder({ mail: MAIL });

beforeEach(() => rmSync(path("art-e.yaml"), { force: true }));

/** Answers with these lines. */
async function answer(...lines: string[]) {
  const child = spawn(process.execPath, [BIN, "init"], { cwd: path("."), env: {} });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  child.stdin.end(lines.map((line) => `${line}\n`).join(""));
  const [code] = await once(child, "close");
  return { code, stderr };
}

describe("init", () => {
  it("asks three questions, each again until it can be used, and writes a file that run takes", async () => {
    const { code, stderr } = await answer("two words", "baseline", "", "nowhere.jsonl", QUESTIONS);
    expect(code).toBe(0);
    expect(stderr).toContain("two words is no id of an agent.");
    expect(stderr).toContain("There is no file or folder nowhere.jsonl.");
    expect(stderr.match(/\? \[/g)).toHaveLength(5);
    expect(parse(read("art-e.yaml"))).toMatchObject({
      agent: "baseline",
      model: "offline/baseline",
      dataset: { file: QUESTIONS },
    });
    expect(await artE("run --quiet")).toMatchObject({ code: 0, stdout: expect.stringContaining("10 completed") });
  });

  it("takes a folder for a suite, and an empty line for the published questions", async () => {
    expect(await answer("data-worker", "openai/gpt-6.1-sol", ".")).toMatchObject({ code: 0 });
    expect(parse(read("art-e.yaml"))).toMatchObject({ model: "openai/gpt-6.1-sol", suite: { folder: "." } });
    rmSync(path("art-e.yaml"));
    expect(await answer("", "", "")).toMatchObject({ code: 0 });
    expect(parse(read("art-e.yaml")).dataset).toEqual({ split: "test" });
  });

  it("writes nothing where the answers end", async () => {
    const { code, stderr } = await answer("baseline");
    expect(code).toBe(2);
    expect(stderr).toContain("art-e init --yes");
    expect(() => read("art-e.yaml")).toThrow("ENOENT");
  });

  it("asks nothing with --yes, and chooses by the keys that are set", async () => {
    expect(await artE("init --yes")).toMatchObject({ code: 0, stderr: "" });
    expect(parse(read("art-e.yaml"))).toMatchObject({ agent: "baseline", model: "offline/baseline" });
    const { stdout } = await artE("init --yes -o keyed.yaml --json", { OPENAI_API_KEY: "not-a-real-key" });
    expect(JSON.parse(stdout)).toMatchObject({ path: "keyed.yaml", agent: "email-search", tasks: null });
    expect(parse(read("keyed.yaml")).model).toMatch(/^openai\//);
    expect(read("keyed.yaml")).not.toContain("not-a-real-key");
  });

  it("never writes over a file", async () => {
    write("art-e.yaml", "agent: mine\n");
    const { code, stderr } = await artE("init --yes");
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("art-e.yaml exists") });
    expect(read("art-e.yaml")).toBe("agent: mine\n");
  });

  it("names the JSON Schema of this installation, for editors", async () => {
    await artE("init --yes");
    const [, schema = ""] = /^# yaml-language-server: \$schema=(.+)\n/.exec(read("art-e.yaml")) ?? [];
    expect(schema).toMatch(/\/schema\/config\.schema\.json$/);
    expect(JSON.parse(readFileSync(schema, "utf8")).title).toBe("ART-E config file");
  });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { BIN, workFolder } from "../art-e.js";

/** From coding notes to a watch, by typing only what the previous command printed. */

const work = workFolder({ demo: "answered" });
const DB = "own mail/art e.db";

beforeAll(() => {
  mkdirSync(work.path("bin"));
  mkdirSync(work.path("own mail"));
  symlinkSync(BIN, work.path("bin/art-e"));
  renameSync(work.path("art-e.db"), work.path(DB));
});

/** A person types this about an answer. */
type Typist = (answer: string) => string;

const isLong = (answer: string) => answer.split(/\s+/).length > 14;

const PERSON: Readonly<Record<string, Typist>> = {
  code: (answer) => (isLong(answer) ? "too long" : "n"),
  label: (answer) => (isLong(answer) ? "b" : "g"),
};

/** Runs a line in a shell, and answers each shown trace. */
async function paste(line: string): Promise<{ readonly output: string; readonly code: number }> {
  const env = { PATH: `${work.path("bin")}:${process.env.PATH}`, HOME: work.path(""), NO_COLOR: "1" };
  const child = spawn("bash", ["-c", line], { cwd: work.path("."), env });
  const typist = PERSON[line.split(" ")[2] ?? ""];
  let [output, shown] = ["", ""];
  const read = (text: string) => {
    output += text;
    shown += text;
    for (const [all, answer = ""] of shown.matchAll(/^Answer: +(.*)\n[\s\S]*?quit > /gm)) {
      shown = shown.slice(shown.indexOf(all) + all.length);
      child.stdin.write(`${typist?.(answer) ?? "q"}\n`);
    }
  };
  child.stdout.setEncoding("utf8").on("data", read);
  child.stderr.setEncoding("utf8").on("data", read);
  const [code] = await once(child, "close");
  return { output, code };
}

/** The line that an output names as the next one. */
function nextOf(output: string): string {
  const [, line] = /^Next[^\n]*?: (art-e [^\n]+)$/m.exec(output) ?? [];
  expect(line, output).toBeDefined();
  return line ?? "";
}

it("the lines that evals commands print lead from notes to a gate and a watch", async () => {
  const typed: string[] = [];
  let line = `art-e evals code --db '${DB}'`;
  let output = "";
  while (!line.startsWith("art-e gate")) {
    typed.push(line.split(" ").slice(1, 4).join(" "));
    expect(typed.length, output).toBeLessThan(10);
    const { output: printed, code } = await paste(line);
    output = printed;
    expect({ line, code, output: code === 0 ? "" : output }).toEqual({ line, code: 0, output: "" });
    line = nextOf(output);
  }
  expect(typed.map((words) => words.replace(/ (--db|--confirm|run_.*)$/, ""))).toEqual([
    "evals code",
    "evals modes assign",
    "evals label",
    "evals suggest",
    "evals test",
    "evals use short_answer@1",
    "evals run short_answer",
  ]);
  // The demo's answers are too long.
  const gate = await paste(line);
  expect(gate).toMatchObject({ code: 3, output: expect.stringContaining("eval:short_answer:corrected") });
  const [watch = ""] = /art-e evals watch [^\n]+/.exec(output) ?? [];
  expect(await paste(watch)).toMatchObject({ code: 0, output: expect.stringContaining("no change found") });
});

import { type ChildProcess, spawn } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, inject, vi } from "vitest";
import type { Question } from "../../src/tasks/question.js";
import { closeSpareHosts, runCommandLine } from "./command-line-processes.js";

/** Runs the built program as a child process, in its own folder and without this process's environment variables. */

export const ROOT = join(import.meta.dirname, "../..");
export const BIN = join(ROOT, "bin/art-e.js");
export const MAIL = join(ROOT, "fixtures/demo/maildir");
export const QUESTIONS = join(ROOT, "fixtures/demo/questions.jsonl");
/** Labels of the baseline's answers, per task of the run `latest`. */
const LABELS = join(ROOT, "fixtures/demo/labels.jsonl");
export const MARCUS = "marcus.hale@kestrelplains.example";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Variables that a process reads only at its start. */
const OF_A_PROCESS = new Set(["TMPDIR", "NODE_OPTIONS", "TZ", "HTTP_PROXY", "HTTPS_PROXY"]);

/** Words of a command line, as one string if no word contains a space. */
export type Line = string | readonly string[];
type Variables = Readonly<Record<string, string>>;

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

function start(folder: string, line: Line, variables: Variables = {}): Started {
  return startProgram(folder, process.execPath, [BIN, ...wordsOf(line)], variables);
}

function wordsOf(line: Line): readonly string[] {
  return typeof line === "string" ? line.split(" ").filter((word) => word !== "") : line;
}

function environment(folder: string, variables: Variables): Record<string, string> {
  // Where the program is on the PATH, messages call it art-e.
  const path = [join(dirname(inject("demoDatabase")), "bin"), process.env.PATH ?? ""].join(delimiter);
  return { PATH: path, HOME: folder, NO_COLOR: "1", TMPDIR: tmpdir(), ...variables };
}

export function startProgram(folder: string, program: string, args: readonly string[], variables: Variables): Started {
  const env = environment(folder, variables);
  const child = spawn(program, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      texts[name] += text;
    });
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject).on("close", (code) => resolve({ code, ...texts }));
  });
  return { child, ended };
}

/** The URL that a server prints when it has started. */
export async function addressOf({ child, ended }: Started): Promise<string> {
  const said = new Promise<string>((resolve) => {
    let text = "";
    child.stdout?.on("data", (chunk: string) => {
      text += chunk;
      const [url] = /http:\/\/\S+:\d+/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  return Promise.race([said, ended.then(({ stderr }) => Promise.reject(new Error(`it ended: ${stderr}`)))]);
}

/** Presses Ctrl-C twice: after the first, running tasks finish and the program says so; the second stops them. */
export async function interruptTwice(child: ChildProcess, signal: NodeJS.Signals = "SIGINT"): Promise<void> {
  await interrupt(child, signal);
  child.kill(signal);
}

/** Presses Ctrl-C once. Resolves with the output since then, once the program has responded. */
export function interrupt(child: ChildProcess, signal: NodeJS.Signals = "SIGINT"): Promise<string> {
  child.kill(signal);
  return new Promise((resolve) => {
    let text = "";
    child.stderr?.on("data", (more: string) => {
      text += more;
      if (text.includes("Stopping")) resolve(text);
    });
  });
}

export interface WorkFolder {
  path(name: string): string;
  /** Runs the command line to its end, if possible in a process that has already run others. */
  artE(line: Line, variables?: Variables): Promise<Ended>;
  start(line: Line, variables?: Variables): Started;
  write(name: string, content: string | Buffer): string;
  read(name: string): string;
  // biome-ignore lint/suspicious/noExplicitAny: each test checks the fields that it reads.
  readJson(name: string): any;
}

/**
 * Initial content of a folder: nothing; mail, imported into its `art-e.db`; or the demo's mail with the baseline's
 * answers to all demo questions, as the run `latest` and in `results.json`, and with the demo's labels for them.
 */
interface Beginning {
  readonly mail?: string;
  readonly demo?: "answered" | "labeled";
}

/** A working folder for the tests of one file, deleted after them. */
export function workFolder({ mail, demo }: Beginning = {}): WorkFolder {
  let folder = "";
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "art-e-command-"));
    if (demo !== undefined) return cpSync(await demoFolder(demo), folder, { recursive: true });
    if (mail === undefined) return;
    if (mail === MAIL) return copyFileSync(inject("demoDatabase"), join(folder, "art-e.db"));
    const { code, stderr } = await start(folder, ["import", mail, "--quiet"]).ended;
    if (code !== 0) throw new Error(`the mail was not imported: ${stderr}`);
  });
  afterAll(async () => {
    closeSpareHosts();
    // A child of a killed program may still write for a moment. rmSync's own retries do not see new files.
    await vi.waitFor(() => rmSync(folder, { recursive: true, force: true }), { timeout: 10_000, interval: 100 });
  });
  const path = (name: string) => join(folder, name);
  const read = (name: string) => readFileSync(path(name), "utf8");
  return {
    path,
    read,
    readJson: (name) => JSON.parse(read(name)),
    artE(line, variables = {}) {
      return Object.keys(variables).some((name) => OF_A_PROCESS.has(name))
        ? start(folder, line, variables).ended
        : runCommandLine(wordsOf(line), folder, environment(folder, variables));
    },
    start: (line, variables) => start(folder, line, variables),
    write(name, content) {
      writeFileSync(path(name), content);
      return path(name);
    },
  };
}

/** The first test file that needs the folder creates it. The others copy it. */
async function demoFolder(state: "answered" | "labeled"): Promise<string> {
  const shared = dirname(inject("demoDatabase"));
  const folder = join(shared, state);
  if (existsSync(folder)) return folder;
  const own = mkdtempSync(join(shared, "making-"));
  if (state === "answered") copyFileSync(inject("demoDatabase"), join(own, "art-e.db"));
  else cpSync(await demoFolder("answered"), own, { recursive: true });
  const line =
    state === "answered"
      ? ["run", "-a", "baseline", "--dataset", QUESTIONS, "-l", "0", "-o", "results.json", "--quiet"]
      : ["evals", "label", "--from", LABELS, "--quiet"];
  const { code, stderr } = await start(own, line).ended;
  if (code !== 0) throw new Error(`art-e ${line.join(" ")}: ${stderr}`);
  try {
    renameSync(own, folder);
  } catch (error) {
    // Another test file was faster.
    if (!existsSync(folder)) throw error;
    rmSync(own, { recursive: true });
  }
  return folder;
}

export const demoQuestions: readonly Question[] = jsonLines(readFileSync(QUESTIONS, "utf8"));

export function demoQuestion(id: number): Question {
  const found = demoQuestions.find((question) => question.id === id);
  if (found === undefined) throw new Error(`unknown demo question ${id}`);
  return found;
}

// biome-ignore lint/suspicious/noExplicitAny: each test checks the fields that it reads.
export function jsonLines(text: string): any[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** Every file in a folder and its subfolders, its bytes as latin1. */
export function everyFile(folder: string): { name: string; bytes: string }[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
    .map((file) => ({ name: file, bytes: readFileSync(file, "latin1") }));
}

/** The label and value of each line of a box. */
export function boxLines(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/^([^:\n]+): +(.+)$/gm)].map(([, label = "", value = ""]) => [label, value]),
  );
}

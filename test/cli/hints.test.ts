import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Command, GLOBAL_FLAGS, nameOf } from "../../src/cli/command.js";
import { COMMANDS } from "../../src/cli/command-table.js";
import { argumentNames } from "../../src/cli/flags/first-argument.js";
import { nearestNames } from "../../src/platform/near-names.js";
import { BIN, QUESTIONS, ROOT, workFolder } from "./art-e.js";

/** The command lines that messages, pages and docs suggest. */

const SOURCES = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && name !== "cli/help/examples.ts")
  .map((name) => ({ name, text: readFileSync(join(ROOT, "src", name), "utf8").replace(/^\s*(\/\/|\/?\*).*$/gm, "") }));

const DOCS = ["README.md", ...readdirSync(join(ROOT, "docs")).map((name) => `docs/${name}`)]
  .filter((name) => name.endsWith(".md"))
  .map((name) => ({ name, text: readFileSync(join(ROOT, name), "utf8") }));

interface Suggested {
  readonly from: string;
  readonly line: string;
}

/** The templates commandLine`...` with X for each value. */
function templates({ name, text }: { readonly name: string; readonly text: string }): Suggested[] {
  return text
    .split("commandLine`")
    .slice(1)
    .map((rest) => ({ from: name, line: templateText(rest) }));
}

function templateText(rest: string): string {
  let line = "";
  for (let at = 0; at < rest.length; at++) {
    if (rest[at] === "`") return line;
    if (rest.startsWith("${", at)) {
      let depth = 1;
      for (at += 2; depth > 0; at++) depth += rest[at] === "{" ? 1 : rest[at] === "}" ? -1 : 0;
      at--;
      line += "X";
    } else line += rest[at];
  }
  throw new Error(`a template does not end: ${rest.slice(0, 80)}`);
}

/** The text of elements such as h("code", "art-e run"), and of `art-e run` on pages. */
function quoted({ name, text }: { readonly name: string; readonly text: string }): Suggested[] {
  const found = [
    ...text.matchAll(/"code", [`"](art-e [^"`]*)[`"]/g),
    ...text.matchAll(/(?<!`)`(art-e [^`\n]+)`(?!`)/g),
  ];
  return found.map(([, line = ""]) => ({
    from: name,
    line: line.replace(/\$\{criterion\w*\}/g, "").replace(/\$\{[^}]*\}/g, "X"),
  }));
}

/** The command lines of code blocks. If a block shows a prompt, the other lines are output. */
function blocks({ name, text }: { readonly name: string; readonly text: string }): Suggested[] {
  return [...text.matchAll(/^```(?:bash|console|sh)?\n(.*?)^```/gms)].flatMap(([, block = ""]) => {
    const line = /^\$ /m.test(block) ? /^\$ (art-e [^#|>&;\n]*)/gm : /^(art-e [^#|>&;\n]*)/gm;
    return [...block.replaceAll("\\\n", " ").matchAll(line)].map(([, typed = ""]) => ({ from: name, line: typed }));
  });
}

/** Returns what is wrong with a command line, or null. `isComplete` means that no argument may be missing. */
async function faultOf({ line }: Suggested, isComplete: boolean): Promise<string | null> {
  const words =
    line
      .trim()
      .match(/'[^']*'|"[^"]*"|\S+/g)
      ?.slice(1) ?? [];
  const [first = "", second] = words;
  if (first === "" || first.startsWith("-") || ["help", "COMMAND", "version", "X"].includes(first)) return null;
  const entry = COMMANDS.find((each) => nameOf(each) === first);
  // In prose, the next word is not always a command.
  if (entry === undefined)
    return nearestNames(first, COMMANDS.map(nameOf)).length > 0 ? `unknown command ${first}` : null;
  if ("load" in entry) return faultOfWords(words.slice(1), entry.usage, await entry.load(), isComplete);
  if (second === undefined || second.startsWith("-")) return isComplete && second === undefined ? "a group" : null;
  const sub = entry.subcommands.find((each) => nameOf(each) === second);
  return sub === undefined
    ? `unknown command ${first} ${second}`
    : faultOfWords(words.slice(2), sub.usage, await sub.load(), isComplete);
}

function faultOfWords(words: readonly string[], usage: string, command: Command, isComplete: boolean): string | null {
  const flags = { ...command.flags, ...GLOBAL_FLAGS };
  let given = 0;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    if (/^(--help|-h)$/.test(word)) return null;
    const [, name = ""] = /^--?([a-z][\w-]*)/.exec(word) ?? [];
    if (!word.startsWith("-") || name === "") {
      given++;
      continue;
    }
    const found = Object.entries(flags).find(([each, flag]) => each === name || [flag.alias].flat().includes(name));
    if (found === undefined) return `unknown flag ${word}`;
    if (found[1].type !== "boolean" && !word.includes("=")) i++;
  }
  const required = [...usage.matchAll(/<(\w+)/g)].map(([, name = ""]) => name);
  if (isComplete && given < required.length) return `needs ${required.slice(given).join(" and ")}`;
  const isLimited = !usage.includes("..") && !words.includes("X");
  return isLimited && given > argumentNames(usage).length ? `has more words than "${usage}"` : null;
}

async function faultsOf(suggested: readonly Suggested[], isComplete: boolean): Promise<string[]> {
  const faults = await Promise.all(
    suggested.map(async (each) => ({ ...each, fault: await faultOf(each, isComplete) })),
  );
  return faults.flatMap(({ from, line, fault }) => (fault === null ? [] : [`${from}: ${line}: ${fault}`]));
}

const started = workFolder({ demo: "answered" });

describe("a suggested command line", () => {
  it("names an existing command with its flags and all required arguments in messages", async () => {
    const suggested = SOURCES.flatMap(templates);
    expect(suggested.length).toBeGreaterThan(100);
    expect(suggested.filter(({ line }) => !line.startsWith("art-e "))).toEqual([]);
    expect(await faultsOf(suggested, true)).toEqual([]);
  });

  it("names an existing command with its flags on pages and in the docs", async () => {
    const suggested = [
      ...SOURCES.filter(({ name }) => name.startsWith("web/")).flatMap(quoted),
      ...DOCS.flatMap(quoted),
      ...DOCS.flatMap(blocks),
    ];
    expect(suggested.length).toBeGreaterThan(200);
    expect(await faultsOf(suggested, false)).toEqual([]);
  });

  it("names the program and the database like a commandLine in all messages", () => {
    /** Files whose texts are not messages to the terminal. */
    const others =
      /^(web\/|cli\/(help|config)\/|cli\/commands\/(init|completion)|cli\/command-table|sandbox\/|runs\/run-flags)/;
    const command = `(?:${COMMANDS.map(nameOf).join("|")})\\b`;
    const plainLine = new RegExp(`(?:: |See |Run |\\()art-e ${command}[^"\`\n]*`, "g");
    const plain = SOURCES.filter(({ name }) => !others.test(name)).flatMap(({ name, text }) =>
      [...text.matchAll(plainLine)].map(([line]) => `${name}: ${line}`),
    );
    expect(plain).toEqual([]);
  });
});

describe("the program in a suggested command line", () => {
  const { artE, path } = workFolder();
  const hint = async (PATH: string) => (await artE("runs list", { PATH })).stderr.split("\n")[1]?.trim();
  const NODE_ONLY = dirname(process.execPath);

  it("has the name art-e if that is on the PATH", async () => {
    mkdirSync(path("bin"));
    symlinkSync(BIN, path("bin/art-e"));
    expect(await hint(`${path("bin")}:${NODE_ONLY}`)).toContain("(art-e import SOURCE)");
  });

  it("appears as node with its path if neither the PATH nor the project has it", async () => {
    expect(await hint(NODE_ONLY)).toContain(`(node ${BIN} import SOURCE)`);
    const { stderr } = await artE("benchmark", { PATH: NODE_ONLY });
    expect(stderr).toContain(`Run the benchmark: node ${BIN} run --agent baseline.`);
  });

  it("appears as npx art-e if the project of the working directory has it", async () => {
    mkdirSync(path("node_modules/.bin"), { recursive: true });
    symlinkSync(BIN, path("node_modules/.bin/art-e"));
    expect(await hint(`${path("node_modules/.bin")}:${NODE_ONLY}`)).toContain("(npx art-e import SOURCE)");
  });
});

it("suggests the score that a mistyped one probably means, and leaves no database of a run that cannot start", async () => {
  const { stderr } = await started.artE("gate results.json --fail-under accuray=0.5");
  expect(stderr).toContain("Did you mean accuracy? Available: accuracy, ");
  for (const line of ["run --suite NOPE -a noop", "run --suite NOPE -a noop --dry-run"]) {
    expect(await started.artE(`${line} --db none.db`), line).toMatchObject({ code: 2 });
    expect(existsSync(started.path("none.db")), line).toBe(false);
  }
});

it("suggests a model without a key only for agents, because no judge works without one", async () => {
  const run = `run -a baseline --dataset ${QUESTIONS} -l 1 --judge`;
  const judged = await started.artE(`${run} openai/x`);
  expect(judged.stderr).toContain("OPENAI_API_KEY");
  expect(judged.stderr).not.toContain("offline/baseline");
});

import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type CommandEntry, type Flag, GLOBAL_FLAGS, nameOf } from "../../src/cli/command.js";
import { COMMAND_SECTIONS, COMMANDS } from "../../src/cli/command-table.js";
import { EXAMPLES } from "../../src/cli/help/examples.js";
import { EXIT_CODES, groupFlags, placeholderOf } from "../../src/cli/help/help-text.js";
import { main } from "../../src/cli.js";
import { programVersion } from "../../src/platform/program-files.js";
import { MAIL, MARCUS, QUESTIONS, workFolder } from "./art-e.js";

describe("help", () => {
  afterEach(() => vi.restoreAllMocks());

  async function printed(...words: string[]): Promise<string> {
    let text = "";
    const write = vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
      text += String(chunk);
      return true;
    });
    const code = await main(words);
    write.mockRestore();
    expect(code).toBe(0);
    return text;
  }

  const GLOBAL = /\nGlobal flags: --db FILE, --cache-dir FOLDER, --json, [^.]+\. See art-e --help\.\n$/;
  /** Ignores wrapping and padding: only the words are compared. */
  const inWords = (text: string) => text.replace(/\s+/g, " ");

  /** `-l, --limit N` */
  function writtenFlag(name: string, flag: Flag): string {
    const others = [flag.alias ?? []].flat();
    const short = others.find((each) => each.length === 1);
    const long = [name, ...others.filter((each) => each.length > 1)].map((each) => `--${each}`);
    return `${short === undefined ? "" : `-${short}, `}${long.join(", ")}${placeholderOf(name, flag)}`;
  }

  const SUBCOMMANDS = COMMANDS.flatMap((entry) =>
    "load" in entry
      ? []
      : entry.subcommands.map((sub): [string, CommandEntry] => [`${nameOf(entry)} ${sub.usage}`, sub]),
  );

  const ALONE = COMMANDS.flatMap((entry): [string, CommandEntry][] => ("load" in entry ? [[entry.usage, entry]] : []));

  it.each([...ALONE, ...SUBCOMMANDS])(
    "shows usage, purpose, examples, arguments, and exactly the flags of art-e %s",
    async (usage, entry) => {
      const command = await entry.load();
      const { flags, positionals = {} } = command;
      const path = usage.replace(/ [<[].*/, "");
      const text = await printed(...path.split(" "), "--help", "all");
      expect(text.startsWith(`art-e ${usage}\n\n${entry.describe}\n`)).toBe(true);
      expect(text).toMatch(GLOBAL);
      expect(text.split("\n").filter((line) => line.length > 120 && !line.startsWith("  art-e "))).toEqual([]);

      const own = text.replace(GLOBAL, "");
      const [, ...args] = usage.match(/(?<=[<[])\w+|^/g) ?? [];
      expect(Object.keys(positionals)).toEqual(args);
      for (const [name, { describe = "" }] of Object.entries(positionals))
        expect(inWords(own)).toContain(` ${name.toUpperCase()} ${describe}`);
      for (const [name, flag] of Object.entries(flags)) {
        expect(inWords(own)).toContain(` ${writtenFlag(name, flag)} ${flag.describe}`);
        expect(flag.describe?.length).toBeGreaterThan(0);
      }
      const listed = [...own.matchAll(/^ +(?:-\w, )?--([a-z-]+)/gm)].map(([, name]) => name);
      expect(listed.sort()).toEqual(Object.keys(flags).sort());
      for (const [line] of EXAMPLES[path] ?? []) expect(text).toContain(`  ${line}\n`);
      const titles = [...own.matchAll(/^([A-Z][^:\n]*):$/gm)].map(([, title]) => title);
      for (const { title } of groupFlags(command)) expect(titles).toContain(title);
    },
  );

  it.each([...ALONE, ...SUBCOMMANDS])(
    "shows one to three examples of art-e %s with its own flags",
    async (usage, entry) => {
      const { flags } = await entry.load();
      const path = usage.replace(/ [<[].*/, "");
      const examples = EXAMPLES[path] ?? [];
      expect(examples.length).toBeGreaterThanOrEqual(1);
      expect(examples.length).toBeLessThanOrEqual(3);
      const known = Object.entries({ ...flags, ...GLOBAL_FLAGS }).flatMap(([name, { alias = [] }]) =>
        [name, alias].flat().map((each) => (each.length === 1 ? `-${each}` : `--${each}`)),
      );
      for (const [line] of examples) {
        expect(line.startsWith(`art-e ${path}`)).toBe(true);
        const used = line.replace(/'[^']*'/g, "").match(/(?<= )--?[a-z][a-z-]*/g) ?? [];
        expect(used.filter((flag) => !known.includes(flag))).toEqual([]);
      }
    },
  );

  it("contains only examples of existing commands", () => {
    const names = [...ALONE, ...SUBCOMMANDS].map(([usage]) => usage.replace(/ [<[].*/, ""));
    const groups = COMMANDS.flatMap((entry) => ("load" in entry ? [] : [nameOf(entry)]));
    expect(Object.keys(EXAMPLES).filter((name) => !["", ...names, ...groups].includes(name))).toEqual([]);
  });

  const GROUPS = COMMANDS.flatMap((entry) => ("load" in entry ? [] : [[nameOf(entry), entry] as const]));

  it.each(GROUPS)("lists the commands and examples of art-e %s, even if --help is missing", async (name, group) => {
    const text = await printed(name, "--help");
    expect(await printed(name)).toBe(text);
    for (const { usage, describe } of group.subcommands)
      expect(inWords(text)).toContain(` ${name} ${usage} ${describe}`);
    expect(EXAMPLES[name]?.length).toBeGreaterThan(0);
    expect(text).toMatch(GLOBAL);
  });

  it("lists the common commands by purpose, the global flags and the exit codes, even if --help is missing", async () => {
    const text = await printed("--help");
    expect(await printed()).toBe(text);
    expect(await printed("help")).toBe(text);
    const titles = [...text.matchAll(/^([A-Z][^:\n]*):$/gm)].map(([, title]) => title);
    expect(titles).toEqual(["Examples", ...COMMAND_SECTIONS.map(({ title }) => title), "Global flags"]);
    for (const { common, rare } of COMMAND_SECTIONS) {
      for (const { usage, describe } of common) expect(inWords(text)).toContain(` ${usage} ${describe}`);
      for (const { describe } of rare) expect(inWords(text)).not.toContain(describe);
    }
    const rare = COMMAND_SECTIONS.flatMap((section) => section.rare.map(nameOf));
    expect(inWords(text)).toContain(` More commands: ${rare.join(", ")}. See art-e --help all. `);
    for (const [name, flag] of Object.entries(GLOBAL_FLAGS))
      expect(inWords(text)).toContain(`--${name}${placeholderOf(name, flag)} ${flag.describe}`);
    expect(inWords(text.slice(text.indexOf("\nExit codes:")))).toBe(` ${EXIT_CODES} `);
  });

  it("lists every command with all", async () => {
    const text = await printed("--help", "all");
    expect(await printed("help", "all")).toBe(text);
    expect(await printed("help", "--all")).toBe(text);
    expect(await printed("-h", "all")).toBe(text);
    for (const { usage, describe } of COMMANDS) expect(inWords(text)).toContain(` ${usage} ${describe}`);
    expect(text).not.toContain("More commands");
  });

  const listedFlags = (text: string) => [...text.matchAll(/^ +(?:-\w, )?--([a-z-]+)/gm)].map(([, name]) => name ?? "");

  it("lists at most 25 flags of art-e run, counts the others, and lists all of them with all", async () => {
    const { flags = {} } = (await ALONE.find(([usage]) => usage === "run")?.[1].load()) ?? {};
    const short = await printed("run", "--help");
    const common = listedFlags(short);
    expect(common.length).toBeLessThanOrEqual(25);
    expect(common).toEqual(expect.arrayContaining(["agent", "limit", "dataset", "suite", "model-id", "output"]));
    const left = Object.keys(flags).length - common.length;
    expect(short).toContain(`\n${left} more flags: art-e run --help all.`);
    expect(listedFlags(await printed("help", "run", "--all")).sort()).toEqual(Object.keys(flags).sort());
  });

  it("lists the flags of suite tasks in art-e run only behind a flag of suite tasks", async () => {
    expect(listedFlags(await printed("run", "--help"))).not.toContain("oracle");
    const listed = listedFlags(await printed("run", "--suite", "folder", "--help"));
    expect(listed).toEqual(expect.arrayContaining(["suite", "oracle", "functions", "task", "agent"]));
    expect(listed).not.toContain("judge-votes");
    expect(listedFlags(await printed("run", "-l", "5", "--help"))).toContain("min-realism");
  });

  it("lists only existing flags in groups, and all flags of a command that has groups", async () => {
    for (const [, entry] of ALONE) {
      const command = await entry.load();
      const named = Object.values(command.flagGroups ?? {}).flat();
      expect(named.filter((name) => command.flags[name] === undefined)).toEqual([]);
      if (command.flagGroups !== undefined)
        expect(groupFlags(command).map(({ title }) => title)).not.toContain("Flags");
    }
  });

  it("shows this for art-e search", async () => {
    expect(await printed("search", "--help")).toMatchInlineSnapshot(`
      "art-e search [mailbox] <words..>

      Search a mailbox like an agent

      Examples:
        # search a mailbox
        art-e search jeff.dasovich@enron.com california hearing
        # with the parts of each score
        art-e search jeff.dasovich@enron.com hearing --after 2001-01-01 --explain

      Arguments:
        MAILBOX                  Email address of the mailbox [default: the only mailbox]
        WORDS                    Words to search for, or an entire question. A mailbox alone lists its newest emails

      Flags:
            --inbox ADDRESS      Same as MAILBOX
        -l, --limit N            Number of emails, from 1 to 50 [default: 10]
            --order best|newest  Order: best (as email_search), or newest (as search_emails, which requires all words)
                                 [default: best]
            --from PERSON        Only emails from this address or name
            --to PERSON          Only emails with this address or name in To, Cc or Bcc
            --after DATE         Only emails sent on or after this date
            --before DATE        Only emails sent before this date
            --cutoff DATE        Search like for a question with this date (later emails are hidden)
            --explain            Show the parts of each score and which words were corrected

      Global flags: --db FILE, --cache-dir FOLDER, --json, --quiet, --no-progress, --verbose. See art-e --help.
      "
    `);
  });

  it.each(["--version", "-v", "version"])(
    "stays away from art-e %s, which prints only the version in package.json",
    async (word) => {
      expect(await printed(word)).toBe(`${programVersion()}\n`);
    },
  );
});

describe("shell completion", () => {
  const { artE, path } = workFolder({ mail: MAIL });
  const PROGRAM = join(import.meta.dirname, "../../bin/art-e.js");
  let run: string;

  beforeAll(async () => {
    run = JSON.parse((await artE(`run -a baseline --dataset ${QUESTIONS} -l 2 --quiet --json`)).stdout).runId;
    writeFileSync(path("art-e"), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
    chmodSync(path("art-e"), 0o755);
  });

  const offered = async (...words: string[]) =>
    (await artE(["--complete-words", ...words])).stdout.split("\n").filter((word) => word !== "");

  describe("completing a partial word", () => {
    it("offers commands, subcommands and flags", async () => {
      expect(await offered("ru")).toEqual(["run", "runs"]);
      expect(await offered("--db", "art-e.db", "sui")).toEqual(["suite"]);
      expect(await offered("agents", "cl")).toEqual(["clone"]);
      expect(await offered("run", "--model-")).toEqual(["--model-id", "--model-provider"]);
      expect(await offered("--no")).toEqual(["--no-progress"]);
    });

    it("offers the database's agents and runs if the value is an agent or a run", async () => {
      expect(await offered("run", "-a", "base")).toEqual(["baseline"]);
      expect(await offered("agents", "show", "email-")).toEqual(["email-search"]);
      for (const words of [
        ["stats", "--run"],
        ["runs", "show"],
        ["compare", "latest"],
        ["run", "--quiet", "--resume"],
      ]) {
        expect(await offered(...words, "")).toEqual(["latest", run]);
      }
    });

    it("offers mailboxes, tools, evals, tasks and traces", async () => {
      expect(await offered("search", "marc")).toEqual([MARCUS]);
      expect(await offered("ask", "marc")).toEqual([MARCUS]);
      expect(await offered("mcp", "--inbox", "marc")).toEqual([MARCUS]);
      expect(await offered("ask", "--inbox", "marc")).toEqual([MARCUS]);
      expect(await offered("agents", "attach", "baseline", "email_s")).toEqual(["email_search"]);
      expect(await offered("tools", "show", "email_g")).toEqual(["email_get"]);
      expect(await offered("evals", "show", "")).toEqual([]);
      expect(await offered("show", "la")).toEqual(["latest/"]);
      expect(await offered("show", "latest/")).toEqual(["latest/1", "latest/2"]);
      expect(await offered("show", `${run}/2`)).toEqual([`${run}/2`]);
      expect(await offered("export-traces", "--run", run, "--ids", "")).toEqual(["1", "2"]);
      expect(await offered("export-traces", "--ids", "1,")).toEqual(["1,1", "1,2"]);
      expect(await offered("show", "nothing/")).toEqual([]);
      const suite = join(import.meta.dirname, "../../fixtures/suites/demo");
      const tasks = await offered("suite", "show", suite, "");
      expect(tasks.length).toBeGreaterThan(2);
      expect(await offered("run", "--suite", suite, "--task", tasks[0]?.slice(0, -1) ?? "")).toContain(tasks[0]);
    });

    it("offers the fixed choices of a flag or an argument", async () => {
      expect(await offered("completion", "z")).toEqual(["zsh"]);
      expect(await offered("run", "--split", "")).toEqual(["test", "train"]);
      expect(await offered("run", "--failed-tasks", "w")).toEqual(["wrong"]);
      expect(await offered("search", MARCUS, "hearing", "--order", "n")).toEqual(["newest"]);
    });

    it("leaves other values to the shell, and everything if there is no database", async () => {
      expect(await offered("run", "--suite", "")).toEqual([]);
      expect(await offered("import", "")).toEqual([]);
      expect(await offered("--db", "none.db", "run", "-a", "")).toEqual([]);
    });
  });

  const inBash = (script: string) =>
    spawnSync("bash", ["-c", script], {
      cwd: path("."),
      encoding: "utf8",
      env: { PATH: `${path(".")}:${process.env.PATH}`, HOME: path(".") },
    });

  describe("the completion script", () => {
    it("completes a word in bash", () => {
      const { stdout, stderr } = inBash(
        'eval "$(art-e completion bash)"; COMP_WORDS=(art-e stats --run run_); COMP_CWORD=3; _art_e; echo $COMPREPLY; complete -p art-e',
      );
      expect(stderr).toBe("");
      expect(stdout).toBe(`${run}\ncomplete -o bashdefault -o default -F _art_e art-e\n`);
    });

    it("adds no space after a run's name in bash, because its task comes next", () => {
      const { stdout, stderr } = inBash(
        `eval "$(art-e completion bash)"; compopt() { echo "compopt:$2"; }; COMP_WORDS=(art-e show ${run.slice(0, -1)}); COMP_CWORD=2; _art_e; echo $COMPREPLY`,
      );
      expect(stderr).toBe("");
      expect(stdout).toBe(`compopt:nospace\n${run}/\n`);
    });

    it("causes an error for another shell", async () => {
      const { code, stderr } = await artE("completion tcsh");
      expect([code, stderr.split("\n")[0]]).toEqual([2, "art-e: SHELL: expected bash or zsh or fish."]);
    });
  });
});

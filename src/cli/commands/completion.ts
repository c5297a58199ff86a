// The command `completion`, and the completions that the shell's script asks for.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { readEnvironment } from "../../platform/environment.js";
import { EXIT, type ExitCode } from "../../platform/errors.js";
import { type NameKind, oneOf } from "../../platform/flag-values.js";
import { type Db, withReadOnly } from "../../store/open-store.js";
import {
  type Argument,
  COMPLETE,
  type Command,
  type Flag,
  type Flags,
  GLOBAL_FLAGS,
  nameOf,
  type TableEntry,
  writtenFlags,
} from "../command.js";
import { configuredDatabase } from "../config/find-config.js";
import { defineCommand } from "../flags/define-command.js";
import { readSettings } from "../settings.js";

// A completed run name ends with a slash and no space follows it, because the user types a task next.
const SCRIPTS = {
  bash: `# art-e completion bash >> ~/.bashrc
_art_e() {
  local IFS=$'\\n'
  COMPREPLY=($(art-e ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ \${COMPREPLY-} == */ ]] && compopt -o nospace 2>/dev/null
}
complete -o bashdefault -o default -F _art_e art-e`,
  zsh: `# art-e completion zsh >> ~/.zshrc
_art_e() {
  local -a found
  found=("\${(@f)$(art-e ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "$found" == */ ]]; then compadd -S '' -- $found; elif [[ -n "$found" ]]; then compadd -- $found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _art_e art-e`,
  fish: `# art-e completion fish > ~/.config/fish/completions/art-e.fish
complete -c art-e -a '(art-e ${COMPLETE} (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`,
} as const;

export const completionCommand = defineCommand(
  z.object({
    shell: oneOf(["bash", "zsh", "fish"]).default("bash").meta({ description: "bash, zsh or fish" }),
  }),
  async ({ shell }, { out }) => {
    const script: string = SCRIPTS[shell];
    out.result({ shell, script }, () => script);
  },
);

/** The command line before the word to complete. */
interface Typed {
  /** The incomplete word. */
  readonly current: string;
  /** Returns the value of a flag. */
  flag(name: string): string | undefined;
  /** Folder of the suite. */
  readonly suite: string | undefined;
}

/** Maximum number of suggested runs. Also limits suggested addresses if no mailbox was imported as a mailbox. */
const OFFERED = 50;

/**
 * Prints the completions of the last word, one per line. Prints nothing if any word is valid, so that the shell
 * suggests files.
 */
export async function complete(words: readonly string[], table: readonly TableEntry[]): Promise<ExitCode> {
  const current = words.at(-1) ?? "";
  const options = await candidates(words.slice(0, -1), current, table);
  const fitting = options.filter((candidate) => candidate.startsWith(current)).sort();
  for (const word of fitting) process.stdout.write(`${word}\n`);
  return EXIT.done;
}

async function candidates(
  before: readonly string[],
  current: string,
  table: readonly TableEntry[],
): Promise<readonly string[]> {
  const path = findEntry(positionalWords(before, GLOBAL_FLAGS), table);
  const entry = path.at(-1);
  if (entry === undefined) return current.startsWith("-") ? writtenFlags(GLOBAL_FLAGS) : table.map(nameOf);
  if (!("load" in entry)) return entry.subcommands.map(nameOf);
  const command = await entry.load();
  const flags = { ...command.flags, ...GLOBAL_FLAGS };
  const positionals = positionalWords(before, flags).slice(path.length);
  const givenTo = (name: string) => {
    const at = before.findLastIndex((word) => findFlag(word, flags) === name);
    return at === -1 ? undefined : before[at + 1];
  };
  const typed: Typed = {
    current,
    flag: givenTo,
    suite: nameOf(path[0] ?? entry) === "suite" ? positionals[0] : givenTo("suite"),
  };
  const flag = findFlag(before.at(-1) ?? "", flags);
  if (flag !== undefined && flags[flag]?.type !== "boolean") return valuesOf(flags[flag], typed);
  if (current.startsWith("-")) return writtenFlags(flags).filter((name) => !before.includes(name));
  return valuesOf(argumentAt(command, positionals.length), typed);
}

/** Returns the words that are not flags or flag values. */
function positionalWords(words: readonly string[], flags: Flags): string[] {
  return words.filter((word, i) => {
    const flag = findFlag(words[i - 1] ?? "", flags);
    return !word.startsWith("-") && (flag === undefined || flags[flag]?.type === "boolean");
  });
}

/** Returns the entries for the first words, as far as they match: a command, or a group and its subcommand. */
function findEntry([first, second]: readonly string[], table: readonly TableEntry[]): TableEntry[] {
  const entry = table.find((each) => nameOf(each) === first);
  if (entry === undefined) return [];
  const sub = "load" in entry ? undefined : entry.subcommands.find((each) => nameOf(each) === second);
  return sub === undefined ? [entry] : [entry, sub];
}

/** Returns the name of a flag from its name or alias, or undefined if the word is not a flag. */
function findFlag(word: string, flags: Flags): string | undefined {
  if (!word.startsWith("-")) return undefined;
  const name = word.replace(/^--?/, "");
  return Object.keys(flags).find((each) => each === name || flags[each]?.alias === name);
}

/** Returns the argument at a position. The last argument might accept several values. */
function argumentAt({ positionals = {} }: Command, position: number): Argument | undefined {
  const all = Object.values(positionals);
  const last = all.at(-1);
  return all[position] ?? (last?.array === true ? last : undefined);
}

async function valuesOf(word: Flag | Argument | undefined, typed: Typed): Promise<readonly string[]> {
  return word?.offered ?? (word?.completes === undefined ? [] : namesOf(word.completes, typed));
}

async function namesOf(kind: NameKind, { current, flag, suite }: Typed): Promise<readonly string[]> {
  if (kind === "suiteTasks") return suite === undefined ? [] : lastOfList(current, suiteTasks(suite));
  const env = readEnvironment();
  const config = { db: flag("db"), config: flag("config") };
  const { db: path } = readSettings(config, env, await configuredDatabase(config, env));
  if (!existsSync(path)) return [];
  const read = await readerOf(kind, current, flag("run") ?? flag("resume") ?? "latest");
  try {
    return withReadOnly(path, read);
  } catch {
    // The database has another version, or the typed name does not exist. A shell shows no errors during completion.
    return [];
  }
}

/** Returns a function that lists names of a kind. Each import is lazy, because the user is waiting. */
async function readerOf(
  kind: Exclude<NameKind, "suiteTasks">,
  current: string,
  run: string,
): Promise<(db: Db) => readonly string[]> {
  switch (kind) {
    case "agents": {
      const { listAgentIds } = await import("../../agents/registry-store.js");
      return listAgentIds;
    }
    case "tools": {
      const { listTools } = await import("../../tools/tools-store.js");
      return (db) => listTools(db).map(({ id }) => id);
    }
    case "evals": {
      const { listEvals } = await import("../../evals/store.js");
      return (db) => [...new Set(listEvals(db).map(({ definition }) => definition.name))];
    }
    case "mailboxes": {
      const { openMailboxes } = await import("../../mail/mailboxes.js");
      return (db) => openMailboxes(db).addresses;
    }
    case "runs":
      return readRuns();
    case "tasks": {
      const readTasks = await readTasksOf();
      return (db) => lastOfList(current, readTasks(db, run));
    }
    case "traces": {
      const readTasks = await readTasksOf();
      const [name = ""] = current.split("/");
      const runs = await readRuns();
      return (db) =>
        current.includes("/") ? readTasks(db, name).map((task) => `${name}/${task}`) : runs(db).map((id) => `${id}/`);
    }
  }
}

async function readRuns() {
  const { newestRunIds } = await import("../../traces/run-list.js");
  return (db: Db) => ["latest", ...newestRunIds(db, OFFERED)];
}

async function readTasksOf() {
  const { getRun } = await import("../../traces/runs-store.js");
  const { listTaskIds } = await import("../../traces/traces-store.js");
  return (db: Db, run: string) => listTaskIds(db, getRun(db, run).id).map(String);
}

/** Completes the last item of a comma-separated list such as `12,3`, and keeps the items before it. */
function lastOfList(current: string, values: readonly string[]): string[] {
  const before = current.slice(0, current.lastIndexOf(",") + 1);
  return values.map((value) => before + value);
}

/** Lists the suite's tasks from their folders, `examples/TOOL/ID`. */
function suiteTasks(folder: string): string[] {
  const examples = join(folder, "examples");
  const foldersIn = (path: string) => (existsSync(path) ? readdirSync(path, { withFileTypes: true }) : []);
  return foldersIn(examples)
    .filter((tool) => tool.isDirectory())
    .flatMap((tool) => foldersIn(join(examples, tool.name)))
    .filter((task) => task.isDirectory())
    .map(({ name }) => name);
}

// Reads the parts of a Dockerfile that need no Docker: copied files, folders, packages and variables.
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, posix } from "node:path";
import {
  type Arg,
  type Copy as CopyInstruction,
  DockerfileParser,
  type Env,
  type From,
  type Instruction,
} from "dockerfile-ast";
import picomatch from "picomatch";
import { splitShellWords } from "../../platform/command-line.js";
import { fileStateOf } from "../suite-folder.js";

/** An environment Dockerfile's additions to its base image that do not need Docker. */
export interface ReadDockerfile {
  /** Image in `FROM`, or null if there is no such line. */
  readonly base: string | null;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly folders: readonly string[];
  readonly copies: readonly FileCopy[];
  /** Modes of copied files and folders, in the order of the lines. */
  readonly modes: readonly { readonly path: string; readonly mode: string }[];
  /** Debian packages. */
  readonly packages: readonly string[];
  /** Python packages, with the requested version, if any. */
  readonly modules: readonly { readonly name: string; readonly version: string | null }[];
  /** Everything that only Docker can do, each with its line. */
  readonly obstacles: readonly string[];
}

/** A file or the contents of a folder. Copies apply in the order of the lines. */
export interface FileCopy {
  /** Absolute path on the host. */
  readonly from: string;
  /** Absolute path, in the image, of the file or of the folder that receives the contents. */
  readonly to: string;
}

export const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const MAX_BYTES = 1_000_000;

/** Reads the Dockerfile of a task's environment folder. Throws an Error if it cannot be read. */
export function readDockerfile(environment: string): ReadDockerfile {
  const file = join(environment, "Dockerfile");
  const { size } = lstatSync(file);
  if (fileStateOf(environment, "Dockerfile") !== "file" || size > MAX_BYTES) {
    throw new Error(`environment/Dockerfile is not a regular file of at most ${MAX_BYTES} bytes`);
  }
  const image = new PlainImage(environment);
  if (fileStateOf(environment, ".dockerignore") !== "missing") image.obstacles.push(".dockerignore is unsupported");
  for (const instruction of DockerfileParser.parse(readFileSync(file, "utf8")).getInstructions())
    image.add(instruction);
  return image;
}

/** Instructions that are ignored because they do not affect the image's files or variables. */
const PASSED_OVER = new Set(["CMD", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "STOPSIGNAL", "USER"]);

const ARCHIVE = /\.(tar|tgz|tbz2?|txz|tar\.\w+)$/;

/** Thrown for a line that needs more than packages, copies and variables. */
class ForDockerAlone extends Error {
  override readonly name = "ForDockerAlone";
}

class PlainImage implements ReadDockerfile {
  base: string | null = null;
  workdir = "/";
  readonly env: Record<string, string> = {};
  readonly folders: string[] = [];
  readonly copies: FileCopy[] = [];
  readonly modes: { path: string; mode: string }[] = [];
  readonly packages: string[] = [];
  readonly modules: { name: string; version: string | null }[] = [];
  readonly obstacles: string[] = [];
  private readonly arguments: Record<string, string> = {};

  constructor(private readonly environment: string) {}

  add(instruction: Instruction): void {
    try {
      this.addNamed(instruction, instruction.getKeyword());
    } catch (error) {
      if (!(error instanceof ForDockerAlone)) throw error;
      this.obstacles.push(`Dockerfile:${instruction.getRange().start.line + 1}: ${error.message}`);
    }
  }

  private addNamed(instruction: Instruction, name: string): void {
    if (PASSED_OVER.has(name)) return;
    if (name === "FROM") this.addFrom(instruction as From);
    else if (name === "ARG") Object.assign(this.arguments, this.properties(instruction as Arg));
    else if (name === "ENV") Object.assign(this.env, this.properties(instruction as Env));
    else if (name === "WORKDIR") this.addWorkdir(instruction);
    else if (name === "VOLUME") this.folders.push(...this.words(instruction).map((path) => this.absolute(path)));
    else if (name === "COPY" || name === "ADD") this.copy(instruction as CopyInstruction);
    else if (name === "RUN") this.run(instruction);
    else throw new ForDockerAlone(`${name} needs Docker`);
  }

  private addFrom(instruction: From): void {
    if (this.base !== null) throw new ForDockerAlone("FROM starts a second stage");
    this.base = this.replace(instruction.getImage() ?? "");
  }

  /**
   * Returns the names and values in an ARG or ENV instruction. Values can use variables from earlier lines, but not
   * from the same line.
   */
  private properties(instruction: Arg | Env): Record<string, string> {
    const pairs = instruction.getProperties().map((property) => {
      const name = property.getName();
      const value = property.getValue();
      const text = property.getUnescapedValue() ?? "";
      if (instruction.getKeyword() === "ENV" && value === null) throw new ForDockerAlone(`ENV ${name} has no value`);
      // The parsed value no longer contains backslashes, so an escaped variable looks like any other.
      if (text.includes("\\$")) throw new ForDockerAlone(`${name} with an escaped $ needs Docker`);
      return [name, text.startsWith("'") ? (value ?? "") : this.replace(value ?? "")];
    });
    return Object.fromEntries(pairs);
  }

  private addWorkdir(instruction: Instruction): void {
    const path = splitWords(this.replace(contentOf(instruction)), "WORKDIR").join(" ");
    this.workdir = this.absolute(path);
    this.folders.push(this.workdir);
  }

  /** Returns the words of the exec form (a JSON array) or, like Docker, splits at white space even within quotes. */
  private words(instruction: Instruction): string[] {
    const words = jsonWords(contentOf(instruction)) ?? instruction.getArguments().map((word) => word.getValue());
    return words.map((word) => this.replace(word));
  }

  private copy(instruction: CopyInstruction): void {
    const name = instruction.getKeyword();
    const flags = new Map(instruction.getFlags().map((flag) => [flag.getName(), flag.getValue()]));
    const unknown = [...flags.keys()].find((flag) => !["chmod", "chown", "link"].includes(flag));
    if (unknown !== undefined) throw new ForDockerAlone(`${name} --${unknown} needs Docker`);
    if (instruction.getHeredocs().length > 0) throw new ForDockerAlone(`${name} with a here-document needs Docker`);
    const words = this.words(instruction);
    const target = words.pop() ?? "";
    const sources = words.flatMap((word) => {
      const isFetched = name === "ADD" && (/^[a-z]+:\/\/|^git@/.test(word) || ARCHIVE.test(word));
      if (isFetched) throw new ForDockerAlone(`ADD ${word} needs Docker`);
      const paths = matchingPaths(this.environment, word.replace(/^\/+/, ""));
      if (paths.length === 0) throw new ForDockerAlone(`${name} ${word}: the file is not in environment/`);
      return paths;
    });
    const isFolder = target.endsWith("/") || target === "." || sources.length > 1;
    const into = this.absolute(target);
    for (const source of sources) {
      const state = fileStateOf(this.environment, source);
      if (state !== "file" && state !== "folder") {
        throw new ForDockerAlone(`${name} ${source}: is not a regular file or folder`);
      }
      const to = state === "file" && isFolder ? posix.join(into, basename(source)) : into;
      this.copies.push({ from: join(this.environment, source), to });
      const mode = flags.get("chmod") ?? null;
      if (mode !== null) this.modes.push({ path: to, mode });
    }
  }

  private run(instruction: Instruction): void {
    const line = contentOf(instruction);
    if (/<<-?["']?\w/.test(line)) throw new ForDockerAlone("RUN with a here-document does more than install packages");
    const list = jsonWords(line);
    // Docker joins continued lines, so a shell comment ends only with the instruction.
    const commands =
      list === null
        ? line
            .replace(/(^|\s)#.*$/s, "$1")
            .split(/&&|;/)
            .map((command) => splitWords(this.replace(command), "RUN"))
        : [list];
    for (const words of commands) {
      if (!this.command(words.slice(words.findIndex((word) => !/^\w+=/.test(word))))) {
        throw new ForDockerAlone(`RUN ${words.join(" ")}: does more than install packages`);
      }
    }
  }

  /** Applies a command that installs packages, creates folders or sets modes. Returns false for any other command. */
  private command([program = "", ...rest]: readonly string[]): boolean {
    const shell = program === "rm" ? /[|&<>`$(){}]/ : /[|&<>`$*?(){}]/;
    if (rest.some((word) => shell.test(word))) return false;
    const isPython = /^python3?$/.test(program) && rest[0] === "-m" && rest[1] === "pip";
    const args = (isPython ? rest.slice(2) : rest).filter((word) => !word.startsWith("-"));
    const flags = rest.filter((word) => word.startsWith("-") && word !== "-m");
    const [action = "", ...packages] = args;
    switch (isPython ? "pip" : program) {
      case "":
      case "set":
      case "true":
        return true;
      case "apt":
      case "apt-get":
        if (action === "install") this.packages.push(...packages.map((one) => one.replace(/[=:/].*$/, "")));
        return ["install", "update", "clean", "autoclean", "autoremove"].includes(action);
      case "pip":
      case "pip3": {
        const modules = packages.map((one) => /^([\w.-]+)(?:\[[\w,-]+\])?(?:==([\w.]+))?$/.exec(one));
        this.modules.push(...modules.map((one) => ({ name: one?.[1] ?? "", version: one?.[2] ?? null })));
        return action === "install" && !modules.includes(null) && flags.every((flag) => PIP_FLAGS.test(flag));
      }
      case "mkdir":
        this.folders.push(...args.map((path) => this.absolute(path)));
        return flags.every((flag) => /^(-p|--parents)$/.test(flag));
      case "chmod":
        this.modes.push(...packages.map((path) => ({ path: this.absolute(path), mode: action })));
        return flags.length === 0;
      case "rm":
        return args.every((path) => /^\/(var\/lib\/apt|var\/cache|root\/\.cache|tmp)\//.test(path));
      default:
        return false;
    }
  }

  private absolute(path: string): string {
    return posix.resolve(this.workdir, path);
  }

  /** Replaces `$NAME`, `${NAME}`, `${NAME:-word}` and `${NAME:+word}`. The colon is optional. */
  private replace(text: string): string {
    const values: Readonly<Record<string, string>> = { PATH: DEFAULT_PATH, ...this.arguments, ...this.env };
    return text.replace(
      /(?<!\\)\$(?:(\w+)|\{([^}]*)\})/g,
      (variable: string, plain: string | undefined, braced: string = "") => {
        const [, name = plain, operator = "", word = ""] = /^(\w+)(?:(:?[-+])(.*))?$/s.exec(plain ?? braced) ?? [];
        if (name === undefined) throw new ForDockerAlone(`${variable} needs Docker`);
        const value = Object.hasOwn(values, name) ? values[name] : undefined;
        const isSet = operator.startsWith(":") ? (value ?? "") !== "" : value !== undefined;
        if (operator.endsWith("+")) return isSet ? word : "";
        return operator.endsWith("-") && !isSet ? word : (value ?? "");
      },
    );
  }
}

/** Flags that change how packages are downloaded, but not which packages. */
const PIP_FLAGS =
  /^(-q|-U|--quiet|--upgrade|--no-cache-dir|--no-cache|--no-compile|--break-system-packages|--disable-pip-version-check|--root-user-action=ignore)$/;

/**
 * Returns the arguments of an instruction as one line, without flags, comments, continuations and blank lines. Keeps
 * white space within a line, because it can be quoted.
 */
function contentOf(instruction: Instruction): string {
  let text = "";
  let last: { readonly line: number; readonly character: number } | null = null;
  for (const argument of instruction.getArguments()) {
    const { start, end } = argument.getRange();
    const gap = last === null ? 0 : last.line === start.line ? start.character - last.character : 1;
    text += " ".repeat(gap) + argument.getValue();
    last = end;
  }
  return text;
}

function splitWords(text: string, instruction: string): string[] {
  try {
    return splitShellWords(text, instruction);
  } catch {
    throw new ForDockerAlone(`${instruction} ${text.trim()}: a quote is not closed`);
  }
}

/** Returns the words of a JSON array of strings, or null for any other text. */
function jsonWords(text: string): string[] | null {
  if (!text.trim().startsWith("[")) return null;
  try {
    const words: unknown = JSON.parse(text);
    return Array.isArray(words) && words.every((word) => typeof word === "string") ? words : null;
  } catch {
    return null;
  }
}

/**
 * COPY's patterns match within one name, like Go's filepath.Match (https://pkg.go.dev/path/filepath#Match), and match
 * hidden files too.
 */
const COPY_PATTERN = { dot: true, nobrace: true, noextglob: true, noglobstar: true, nonegate: true } as const;

/** Returns the paths in a folder that match a pattern of COPY. */
function matchingPaths(folder: string, pattern: string): string[] {
  const parts = posix.normalize(pattern).replace(/\/$/, "").split("/");
  if (parts[0] === "..") return [];
  let expanded = [""];
  for (const part of parts) {
    if (part === "." || part === "") continue;
    expanded = expanded.flatMap((path) => {
      if (!/[*?[\\]/.test(part))
        return fileStateOf(folder, posix.join(path, part)) === "missing" ? [] : [posix.join(path, part)];
      if (fileStateOf(folder, path) !== "folder") return [];
      const matches = picomatch(part, COPY_PATTERN);
      return readdirSync(join(folder, path))
        .filter((name) => matches(name))
        .sort()
        .map((name) => posix.join(path, name));
    });
  }
  return expanded.map((path) => path || ".");
}

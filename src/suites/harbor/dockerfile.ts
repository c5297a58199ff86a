import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { type Copy as CopyInstruction, DockerfileParser, type Env, type Instruction } from "dockerfile-ast";
import { splitShellWords } from "../../platform/command-line.js";
import { fileStateOf } from "../suite-folder.js";

/** What an environment's Dockerfile puts on its base image, as far as that can be had without Docker. */
export interface ReadDockerfile {
  /** As `FROM` names it; null: there is no such line. */
  readonly base: string | null;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly folders: readonly string[];
  readonly copies: readonly FileCopy[];
  /** Of files and folders that were copied, in the order of the lines. */
  readonly modes: readonly { readonly path: string; readonly mode: string }[];
  /** Debian packages. */
  readonly packages: readonly string[];
  /** Python packages, with the version that is asked for, if any. */
  readonly modules: readonly { readonly name: string; readonly version: string | null }[];
  /** What more than Docker alone could do, each with its line; empty: nothing. */
  readonly obstacles: readonly string[];
}

/** A file or the contents of a folder, copied in the order of the lines. */
export interface FileCopy {
  /** Absolute path on this machine. */
  readonly from: string;
  /** Absolute path in the image: of the file, or of the folder that gets the contents. */
  readonly to: string;
}

export const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const MAX_BYTES = 1_000_000;

/** Reads the Dockerfile of a task's environment folder. Throws an Error where it cannot be read. */
export function readDockerfile(environment: string): ReadDockerfile {
  const file = join(environment, "Dockerfile");
  const { size } = lstatSync(file);
  if (fileStateOf(environment, "Dockerfile") !== "file" || size > MAX_BYTES) {
    throw new Error(`environment/Dockerfile is no regular file of at most ${MAX_BYTES} bytes`);
  }
  const image = new PlainImage(environment);
  if (fileStateOf(environment, ".dockerignore") !== "missing") image.obstacles.push(".dockerignore is not read");
  for (const instruction of DockerfileParser.parse(readFileSync(file, "utf8")).getInstructions())
    image.add(instruction);
  return image;
}

/** They say nothing of what is in the image, or of who works in it. */
const PASSED_OVER = new Set(["CMD", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "STOPSIGNAL", "USER"]);

const ARCHIVE = /\.(tar|tgz|tbz2?|txz|tar\.\w+)$/;

/** A line that asks for more than packages, copies and variables. */
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
  readonly #arguments: Record<string, string> = {};

  constructor(private readonly environment: string) {}

  add(instruction: Instruction): void {
    try {
      this.#add(instruction, instruction.getKeyword(), instruction.getArgumentsContent() ?? "");
    } catch (error) {
      if (!(error instanceof ForDockerAlone)) throw error;
      this.obstacles.push(`Dockerfile:${instruction.getRange().start.line + 1}: ${error.message}`);
    }
  }

  #add(instruction: Instruction, name: string, text: string): void {
    if (PASSED_OVER.has(name)) return;
    if (name === "FROM") this.#from(text);
    else if (name === "ARG") this.#argument(text);
    else if (name === "ENV") this.#variables(instruction as Env);
    else if (name === "WORKDIR") this.#workdir(text);
    else if (name === "VOLUME") this.#volumes(text);
    else if (name === "COPY" || name === "ADD") this.#copy(instruction as CopyInstruction, text);
    else if (name === "RUN") this.#run(instruction, text);
    else throw new ForDockerAlone(`${name} is for Docker alone`);
  }

  #from(text: string): void {
    const words = text.split(/\s+/).filter((word) => !word.startsWith("--"));
    if (this.base !== null) throw new ForDockerAlone("FROM begins a second stage");
    this.base = this.#replace(words[0] ?? "");
  }

  #argument(text: string): void {
    for (const [, name = "", value] of text.matchAll(/(\w+)(?:=("[^"]*"|'[^']*'|\S*))?/g)) {
      this.#arguments[name] = this.#replace((value ?? "").replace(/^(["'])(.*)\1$/, "$2"));
    }
  }

  #variables(instruction: Env): void {
    const properties = instruction.getProperties().map((one) => [one.getName(), one.getValue() ?? ""] as const);
    // A line sees the variables of those before it.
    const values = properties.map(([name, value]) => [name, this.#replace(value)] as const);
    for (const [name, value] of values) this.env[name] = value;
  }

  #workdir(text: string): void {
    this.workdir = this.#absolute(this.#replace(text.replace(/^(["'])(.*)\1$/, "$2")));
    this.folders.push(this.workdir);
  }

  #volumes(text: string): void {
    const paths = jsonWords(text) ?? text.split(/\s+/);
    this.folders.push(...paths.map((path) => this.#absolute(this.#replace(path))));
  }

  #copy(instruction: CopyInstruction, text: string): void {
    const name = instruction.getKeyword();
    const flags = new Map(instruction.getFlags().map((flag) => [flag.getName(), flag.getValue()]));
    const unknown = [...flags.keys()].find((flag) => !["chmod", "chown", "link"].includes(flag));
    if (unknown !== undefined) throw new ForDockerAlone(`${name} --${unknown} is for Docker alone`);
    if (instruction.getHeredocs().length > 0) throw new ForDockerAlone(`${name} of a text is for Docker alone`);
    const words = (jsonWords(text) ?? text.split(/\s+/)).map((word) => this.#replace(word));
    const target = words.pop() ?? "";
    const sources = words.flatMap((word) => {
      const isFetched = name === "ADD" && (/^[a-z]+:\/\/|^git@/.test(word) || ARCHIVE.test(word));
      if (isFetched) throw new ForDockerAlone(`ADD ${word} is for Docker alone`);
      const found = matchingPaths(this.environment, word.replace(/^\/+/, ""));
      if (found.length === 0) throw new ForDockerAlone(`${name} ${word}: there is no such file in environment/`);
      return found;
    });
    const isFolder = target.endsWith("/") || target === "." || sources.length > 1;
    const into = this.#absolute(target);
    for (const source of sources) {
      const state = fileStateOf(this.environment, source);
      if (state !== "file" && state !== "folder") {
        throw new ForDockerAlone(`${name} ${source}: is no regular file or folder`);
      }
      const to = state === "file" && isFolder ? posix.join(into, basename(source)) : into;
      this.copies.push({ from: join(this.environment, source), to });
      const mode = flags.get("chmod") ?? null;
      if (mode !== null) this.modes.push({ path: to, mode });
    }
  }

  #run(instruction: Instruction, text: string): void {
    if (/<<-?["']?\w/.test(text)) throw new ForDockerAlone("RUN of a script in the Dockerfile is more than packages");
    const list = jsonWords(text.replace(/^(--\S+\s+)+/, ""));
    const lines = (instruction.getRawArgumentsContent() ?? text)
      .replace(/\\\r?\n/g, " ")
      .replace(/^\s*(--\S+\s+)+/, "")
      .replace(/(^|\s)#.*$/gm, "$1");
    const commands = list === null ? lines.split(/&&|;|\n/).map((line) => wordsOf(this.#replace(line))) : [list];
    for (const words of commands) {
      if (!this.#command(words.slice(words.findIndex((word) => !/^\w+=/.test(word))))) {
        throw new ForDockerAlone(`RUN ${words.join(" ")}: is more than packages`);
      }
    }
  }

  /** Takes what installs packages, makes folders or sets modes; false: it is something else. */
  #command([program = "", ...rest]: readonly string[]): boolean {
    const shell = program === "rm" ? /[|&<>`$(){}]/ : /[|&<>`$*?(){}]/;
    if (rest.some((word) => shell.test(word))) return false;
    const isPython = /^python3?$/.test(program) && rest[0] === "-m" && rest[1] === "pip";
    const args = (isPython ? rest.slice(2) : rest).filter((word) => !word.startsWith("-"));
    const flags = rest.filter((word) => word.startsWith("-") && word !== "-m");
    const [action = "", ...named] = args;
    switch (isPython ? "pip" : program) {
      case "":
      case "set":
      case "true":
        return true;
      case "apt":
      case "apt-get":
        if (action === "install") this.packages.push(...named.map((one) => one.replace(/[=:/].*$/, "")));
        return ["install", "update", "clean", "autoclean", "autoremove"].includes(action);
      case "pip":
      case "pip3": {
        const modules = named.map((one) => /^([\w.-]+)(?:\[[\w,-]+\])?(?:==([\w.]+))?$/.exec(one));
        this.modules.push(...modules.map((one) => ({ name: one?.[1] ?? "", version: one?.[2] ?? null })));
        return action === "install" && !modules.includes(null) && flags.every((flag) => PIP_FLAGS.test(flag));
      }
      case "mkdir":
        this.folders.push(...args.map((path) => this.#absolute(path)));
        return flags.every((flag) => /^(-p|--parents)$/.test(flag));
      case "chmod":
        this.modes.push(...named.map((path) => ({ path: this.#absolute(path), mode: action })));
        return flags.length === 0;
      case "rm":
        return args.every((path) => /^\/(var\/lib\/apt|var\/cache|root\/\.cache|tmp)\//.test(path));
      default:
        return false;
    }
  }

  #absolute(path: string): string {
    const normal = posix.resolve(this.workdir, path);
    return normal.length > 1 ? normal.replace(/\/$/, "") : normal;
  }

  /** `$NAME`, `${NAME}` and `${NAME:-default}`. */
  #replace(text: string): string {
    const values: Readonly<Record<string, string>> = { PATH: DEFAULT_PATH, ...this.#arguments, ...this.env };
    return text.replace(
      /(?<!\\)\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})/g,
      (_, plain?: string, braced?: string, other?: string) => {
        const value = values[plain ?? braced ?? ""] ?? "";
        return value === "" ? (other ?? "") : value;
      },
    );
  }
}

/** They change how packages are fetched, not which. */
const PIP_FLAGS =
  /^(-q|-U|--quiet|--upgrade|--no-cache-dir|--no-cache|--no-compile|--break-system-packages|--disable-pip-version-check|--root-user-action=ignore)$/;

function wordsOf(command: string): string[] {
  try {
    return splitShellWords(command, "RUN");
  } catch {
    throw new ForDockerAlone(`RUN ${command.trim()}: a quote is not closed`);
  }
}

/** The words of a JSON array of texts; null: it is none. */
function jsonWords(text: string): string[] | null {
  if (!text.trim().startsWith("[")) return null;
  try {
    const words: unknown = JSON.parse(text);
    return Array.isArray(words) && words.every((word) => typeof word === "string") ? words : null;
  } catch {
    return null;
  }
}

/** The paths in a folder that a pattern of COPY means: `*` and `?` stand for anything within a name. */
function matchingPaths(folder: string, pattern: string): string[] {
  const parts = posix.normalize(pattern).replace(/\/$/, "").split("/");
  if (parts[0] === "..") return [];
  let found = [""];
  for (const part of parts) {
    if (part === "." || part === "") continue;
    found = found.flatMap((path) => {
      if (!/[*?]/.test(part))
        return fileStateOf(folder, posix.join(path, part)) === "missing" ? [] : [posix.join(path, part)];
      if (fileStateOf(folder, path) !== "folder") return [];
      const wanted = new RegExp(
        `^${part
          .replace(/[.+^${}()|[\]\\]/g, "\\$&")
          .replaceAll("*", ".*")
          .replaceAll("?", ".")}$`,
      );
      return readdirSync(join(folder, path))
        .filter((name) => wanted.test(name))
        .sort()
        .map((name) => posix.join(path, name));
    });
  }
  return found.map((path) => path || ".");
}

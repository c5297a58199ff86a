// Starts a program for art-e and kills it with all its child processes when art-e ends, however it ends. Descriptor 3
// is a socket to art-e: what to start is read from it as one line of JSON, how the program ended is written to it,
// and its closing means that art-e has ended.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { getSystemErrorMap } from "node:util";

/** Processes that fork faster than they can be killed are left to the kill of the group. */
const MOST_ROUNDS = 200;

const parent = new Socket({ fd: 3 });
let input = "";
parent.setEncoding("utf8").on("data", (text) => {
  if (input.endsWith("\n")) return;
  input += text;
  if (input.endsWith("\n")) start(JSON.parse(input));
});
parent.on("end", endAll).on("close", endAll).on("error", endAll);

function start({ argv, env, cwd }) {
  const [program, ...args] = argv;
  const child = spawn(program, args, { stdio: "inherit", env, cwd });
  child.on("error", (error) => {
    const noFolder = cwd !== undefined && !existsSync(cwd);
    report({
      error: noFolder
        ? `the folder ${cwd} does not exist`
        : (getSystemErrorMap().get(error.errno)?.[1] ?? error.message),
    });
  });
  child.on("exit", (code, signal) => {
    endDescendants();
    report({ code, signal });
  });
}

function report(end) {
  try {
    writeSync(3, `${JSON.stringify(end)}\n`);
  } catch {
    // art-e has already ended.
  }
  endAll();
}

function endAll() {
  endDescendants();
  process.kill(-process.pid, "SIGKILL");
}

/**
 * Also those in other sessions. As a subreaper this process misses none; otherwise it misses those whose parents have
 * ended. They are stopped first, so that none can start another meanwhile.
 */
function endDescendants() {
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const pids = descendants();
    if (pids.length === 0) return;
    for (const signal of ["SIGSTOP", "SIGKILL"]) for (const pid of pids) sendTo(pid, signal);
  }
}

function sendTo(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // Already ended, or its id now belongs to another user's process.
  }
}

/** From /proc; empty without it. Zombies do not count. */
function descendants() {
  const children = new Map();
  for (const name of existsSync("/proc/self/stat") ? readdirSync("/proc") : []) {
    if (!/^\d+$/.test(name)) continue;
    const [state, ppid] = statOf(name);
    if (state === undefined) continue;
    const siblings = children.get(Number(ppid)) ?? [];
    siblings.push({ pid: Number(name), ended: state === "Z" || state === "X" });
    children.set(Number(ppid), siblings);
  }
  const found = [];
  const look = (pid) => {
    for (const child of children.get(pid) ?? []) {
      if (!child.ended) found.push(child.pid);
      look(child.pid);
    }
  };
  look(process.pid);
  return found;
}

/** State and parent id, after the name in parentheses, which may contain anything. */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ", 2);
  } catch {
    return [];
  }
}

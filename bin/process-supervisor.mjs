// Starts a program for art-e and ends it, with all that it has started, when art-e is gone, however that came about.
// Descriptor 3 is held open by art-e: its end is art-e's. What to start is read there, as one line of JSON, and how the
// program ended is written there.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { Socket } from "node:net";

/** Processes that fork faster than they can be ended are left to the group's end. */
const MOST_ROUNDS = 200;

const parent = new Socket({ fd: 3 });
let said = "";
parent.setEncoding("utf8").on("data", (text) => {
  if (said.endsWith("\n")) return;
  said += text;
  if (said.endsWith("\n")) start(JSON.parse(said));
});
parent.on("end", endAll).on("close", endAll).on("error", endAll);

function start({ argv, env, cwd }) {
  const [program, ...args] = argv;
  const child = spawn(program, args, { stdio: "inherit", env, cwd });
  child.on("error", (error) => {
    const noFolder = cwd !== undefined && !existsSync(cwd);
    tell({ error: noFolder ? `there is no folder ${cwd}` : (error.code ?? error.message) });
  });
  child.on("exit", (code, signal) => {
    endDescendants();
    tell({ code, signal });
  });
}

function tell(end) {
  try {
    writeSync(3, `${JSON.stringify(end)}\n`);
  } catch {
    // Nobody is there to be told.
  }
  endAll();
}

function endAll() {
  endDescendants();
  process.kill(-process.pid, "SIGKILL");
}

/**
 * Those in other sessions too. Where art-e has made this process the one that orphans fall to, none is missed; elsewhere
 * those whose parents are gone. They are stopped first, so that none can start another meanwhile.
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
    // It has ended, or has become somebody else's.
  }
}

/** As Linux tells; without /proc none. Those that have ended and were not waited for do not count. */
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

/** State and parent, behind the name in parentheses, which may hold anything. */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ", 2);
  } catch {
    return [];
  }
}

import type { CommandResult, TaskMachine } from "../../../domain/tasks/task-machine.js";
import type { OracleProcess } from "./read-oracle.js";

const READY_WITHIN_S = 60;
const TIMEOUT_MS = (READY_WITHIN_S + 10) * 1000;

/** In a session of its own, so that it lives until the machine is closed. Gives its process id. */
const START = 'log=$1; shift; setsid "$@" </dev/null >"$log" 2>&1 & echo $!';

/** Tries the port until somebody answers, unless the process has ended before. */
const WAIT = `for try in $(seq ${READY_WITHIN_S * 5}); do
  (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null && exit 0
  kill -0 "$3" 2>/dev/null || break
  sleep 0.2
done
tail -n 1 "$4" >&2
exit 1`;

/** Starts what an agent would have left running. Gives why one is not ready, or null. */
export async function startProcesses(
  processes: readonly OracleProcess[],
  machine: TaskMachine,
  signal: AbortSignal,
): Promise<string | null> {
  const bash = (script: string, ...words: string[]): Promise<CommandResult> => {
    const argv = ["/bin/bash", "-c", script, "bash", ...words];
    return machine.run({ argv, cwd: null, env: {}, timeoutMs: TIMEOUT_MS }, signal);
  };
  for (const [i, { cmd, ready }] of processes.entries()) {
    const log = `/tmp/process-${i}.log`;
    const started = await bash(START, log, ...cmd);
    if (ready === undefined) continue;
    const [host = "", port = ""] = ready.slice("tcp:".length).split(/:(?=\d+$)/);
    const { exitCode, stderr } = await bash(WAIT, host, port, started.stdout.trim(), log);
    if (exitCode === 0) continue;
    const said = stderr.trim();
    return `${cmd.join(" ")} is not ready at ${host}:${port}${said === "" ? "" : `: ${said}`}`;
  }
  return null;
}

import { ALLOW_NAMESPACES, findBubblewrap } from "./bubblewrap/bubblewrap.js";
import { findDocker } from "./docker.js";
import type { PythonSandbox, SandboxChoice } from "./python-sandbox.js";
import { runPython } from "./run-python.js";
import { openWorkspace } from "./workspace/workspace.js";

/** Printed by the probe after writing to the workspace and reading back. */
const PROOF = "art-e sandbox 42";
const PROBE = `
open("proof", "w").write("42")
print("art-e sandbox", open("proof").read())`;

const HINTS: Readonly<Record<PythonSandbox["kind"], string>> = {
  bubblewrap: ALLOW_NAMESPACES,
  docker: "See what docker run says.",
  host: "Install Python 3.",
};

let chosen: Promise<SandboxChoice> | undefined;

/**
 * The sandbox of this machine: bubblewrap, else Docker, else none with the reason. Each is probed by running a
 * program, since an installed one may not work (user namespaces may be forbidden). Probed once per process.
 */
export function chooseSandbox(): Promise<SandboxChoice> {
  chosen ??= probeAll();
  return chosen;
}

async function probeAll(): Promise<SandboxChoice> {
  const failures: Extract<SandboxChoice, { ok: false }>[] = [];
  for (const find of [findBubblewrap, findDocker]) {
    const choice = await find();
    const result = choice.ok ? await probe(choice) : choice;
    if (result.ok) return result;
    failures.push(result);
  }
  return {
    ok: false,
    why: failures.map(({ why }) => why).join("; "),
    hint: failures.map(({ hint }) => hint).join(" Or: "),
  };
}

async function probe(choice: Extract<SandboxChoice, { ok: true }>): Promise<SandboxChoice> {
  const { sandbox } = choice;
  const workspace = openWorkspace();
  try {
    const run = await runPython(sandbox, PROBE, workspace, new AbortController().signal);
    if (run.stdout.trim() === PROOF) return choice;
    const lastLine = run.stderr.trim().split("\n").at(-1);
    return {
      ok: false,
      why: `${sandbox.about} does not work here (${lastLine || "it printed nothing"})`,
      hint: HINTS[sandbox.kind],
    };
  } catch (error) {
    return {
      ok: false,
      why: `${sandbox.about} does not start (${(error as Error).message})`,
      hint: HINTS[sandbox.kind],
    };
  } finally {
    await workspace.close();
  }
}

import { findPython } from "./find-python.js";
import { PYTHON_FLAGS, pythonPreamble } from "./python-bootstrap.js";
import type { SandboxChoice } from "./python-sandbox.js";

/**
 * No sandbox at all: Python on this machine, with the rights and files of the current user, but without the
 * environment. Only if requested explicitly.
 */
export async function findHostPython(): Promise<SandboxChoice> {
  const python = await findPython();
  if (python === null) return { ok: false, why: "there is no Python 3", hint: "Install Python 3." };
  return {
    ok: true,
    sandbox: {
      kind: "host",
      about: `no sandbox, Python ${python.version}`,
      limits: { memory: "watched", disk: "watched", processes: "watched" },
      launch: ({ files, temporary }) => ({
        program: python.program,
        // No -S: the host's packages are the reason to run on the host.
        args: [...PYTHON_FLAGS.filter((flag) => flag !== "-S"), "-c", pythonPreamble({ strict: false, ready: null })],
        env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: files, TMPDIR: temporary, LANG: "C.UTF-8" },
        owner: null,
        folder: files,
        filter: null,
        cgroups: null,
        startMs: 0,
      }),
    },
  };
}

import { existsSync } from "node:fs";

/** prctl's PR_SET_CHILD_SUBREAPER, and prctl's number on each processor. */
const SET_SUBREAPER = 36;
const PRCTL: Readonly<Record<string, number>> = { x64: 157, arm64: 167 };

const PERL = ["/usr/bin/perl", "/usr/local/bin/perl"];
const PYTHON = ["/usr/bin/python3", "/usr/local/bin/python3"];

const PYTHON_SOURCE = `import os, sys
try:
    import ctypes
    ctypes.CDLL(None).prctl(${SET_SUBREAPER}, 1, 0, 0, 0)
except (ImportError, OSError, AttributeError):
    pass
os.execv(sys.argv[1], sys.argv[1:])`;

/**
 * A command prefix that makes its process a subreaper, the new parent of orphaned descendants, so that a daemonised
 * program can still be found. Node has no prctl, Perl and Python do; empty without either, and on systems other than
 * Linux.
 */
export function subreaperPrefix(): readonly string[] {
  if (process.platform !== "linux") return [];
  const number = PRCTL[process.arch];
  const perl = PERL.find((path) => existsSync(path));
  if (perl !== undefined && number !== undefined) {
    return [perl, "-e", `syscall(${number}, ${SET_SUBREAPER}, 1, 0, 0, 0); exec { $ARGV[0] } @ARGV`, "--"];
  }
  const python = PYTHON.find((path) => existsSync(path));
  return python === undefined ? [] : [python, "-I", "-S", "-c", PYTHON_SOURCE];
}

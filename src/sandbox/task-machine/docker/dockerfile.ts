import { HOME } from "../../../domain/tasks/task-machine.js";
import { SHIMS } from "../machine-limits.js";
import type { Snapshot } from "../snapshots/snapshot-schema.js";

const BASE_IMAGE = "debian:12-slim";
/** What the machine's own first process and commands take. */
const NEEDED = ["bash", "coreutils", "python3"];

/**
 * A Dockerfile of what a snapshot's machine holds of programs and modules. Its files, folders and set-up come with each
 * machine, since the home of an image is covered by one in memory.
 */
export function writeDockerfile({ name, commands, modules, shims, readOnly, unavailable }: Snapshot): string {
  const wanted = Object.entries({ ...commands, ...modules }).filter(([program]) => !(program in shims));
  const packages = new Set([...NEEDED, ...wanted.flatMap(([, from]) => from ?? [])]);
  const missing = wanted.filter(([, from]) => from === null).map(([program]) => program);
  return [
    "# syntax=docker/dockerfile:1",
    `# The snapshot ${name}: art-e suite image ${name} | docker build -t art-e-${imageWord(name)} -`,
    ...(unavailable === null ? [] : [`# No machine can hold it as it is: ${unavailable}.`]),
    ...missing.map((program) => `# Debian has no package of ${program}: install it below.`),
    ...readOnly.map((folder) => `# ${folder} is a folder of the machine that this was written on: copy it below.`),
    `FROM ${BASE_IMAGE}`,
    "RUN apt-get update \\",
    ` && apt-get install -y --no-install-recommends ${[...packages].sort().join(" ")} \\`,
    " && rm -rf /var/lib/apt/lists/*",
    `RUN useradd --uid 1000 --create-home --home-dir ${HOME} --shell /bin/bash user`,
    ...Object.entries(shims).flatMap(([program, script]) => shim(program, script)),
    "USER user",
    `WORKDIR ${HOME}`,
    "",
  ].join("\n");
}

/** A quoted word, so that nothing in the lines is replaced; one that is no line of the script. */
function shim(program: string, script: string): string[] {
  const lines = script.split("\n");
  let end = "END";
  while (lines.includes(end)) end += "_";
  return [`COPY --chmod=0555 <<'${end}' ${SHIMS}/${program}`, "#!/bin/sh", ...lines, end];
}

const imageWord = (name: string) => name.toLowerCase().replace(/[^a-z0-9]+/g, "-");

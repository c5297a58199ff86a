import { HOME } from "../../domain/tasks/task-machine.js";
import { SHIMS } from "./machine-limits.js";

/** A file that is in the machine from its start and cannot be changed there. */
export interface BuiltInFile {
  readonly path: string;
  readonly content: string;
  readonly mode: string;
}

/** Where the machine finds the program of its first process. */
export const GUEST = "/opt/machine/guest";

/** What programs ask of /etc, with nothing of this machine's: LibreOffice does not start without a user's name. */
const ETC: Readonly<Record<string, string>> = {
  passwd: `root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:${HOME}:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n`,
  group: "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n",
  hosts: "127.0.0.1 localhost machine\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\n",
  hostname: "machine\n",
};

export function builtInFiles(
  guest: Readonly<Record<string, string>>,
  shims: Readonly<Record<string, string>>,
): BuiltInFile[] {
  return [
    ...Object.entries(guest).map(([name, content]) => ({ path: `${GUEST}/${name}`, content, mode: "0444" })),
    ...Object.entries(ETC).map(([name, content]) => ({ path: `/etc/${name}`, content, mode: "0444" })),
    ...Object.entries(shims).map(([name, script]) => ({
      path: `${SHIMS}/${name}`,
      content: `#!/bin/sh\n${script}\n`,
      mode: "0555",
    })),
  ];
}

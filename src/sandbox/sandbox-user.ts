import { readFileSync } from "node:fs";

/** `nobody`, as every Linux has it. */
const NOBODY = 65_534;

/**
 * Whom untrusted code runs as: as root somebody else, since the kernel's limit on processes does not bind root,
 * not even root that has no rights left; otherwise null, whoever runs this program. So too where root is one of a
 * container that has no other users, whom the limit does bind.
 */
export function sandboxUser(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0 || !isMapped("uid") || !isMapped("gid")) return null;
  return { uid: NOBODY, gid: NOBODY };
}

/** Whether nobody is a user here: lines of the map are the first id inside, the first outside, and how many. */
function isMapped(kind: "uid" | "gid"): boolean {
  let map: string;
  try {
    map = readFileSync(`/proc/self/${kind}_map`, "utf8");
  } catch {
    return true;
  }
  return map.split("\n").some((line) => {
    const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
    return first <= NOBODY && NOBODY < first + count;
  });
}

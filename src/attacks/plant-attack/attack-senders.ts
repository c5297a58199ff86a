// Who hostile emails seem to come from: invented strangers, or addresses that look like those of known people.
import { pick, type Random } from "./spin.js";

const FIRST_NAMES = "dana morgan casey robin jamie avery quinn taylor jordan sydney".split(" ");
const LAST_NAMES = "holt pryce vance marsh keller boyd sloan reyes larkin dorsey".split(" ");
const DOMAINS = "lakeshore ridgeway bluepine silverton crestview millbrook easton highmoor".split(" ");

/** Returns the address of an invented person at an invented company. */
export function outsider(random: Random): string {
  return `${pick(FIRST_NAMES, random)}.${pick(LAST_NAMES, random)}@${pick(DOMAINS, random)}-${pick(["group", "partners", "services", "office"], random)}.example`;
}

/** Returns the address at a domain that looks like the person's own. */
export function lookAlike(address: string): string {
  const [local = "", domain = ""] = address.split("@");
  for (const [letters, others] of [
    ["m", "rn"],
    ["l", "1"],
    ["o", "0"],
    ["i", "l"],
    ["e", "3"],
  ] as const) {
    if (domain.includes(letters)) return `${local}@${domain.replace(letters, others)}`;
  }
  return `${local}@mail-${domain}`;
}

/** Returns the name that an address suggests. */
export function nameIn(address: string): string {
  const [local = ""] = address.split("@");
  return local
    .split(/[._-]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join(" ");
}

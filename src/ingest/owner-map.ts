import { readFileSync } from "node:fs";
import { UserError } from "../domain/errors.js";

/** Reads a TSV of owner folder and address. Further columns, and a header line without an address, are ignored. */
export function readOwnerMap(path: string): Map<string, string> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new UserError(
      "owner_map_unreadable",
      `Cannot read the owner map ${path}.`,
      "Check the path given to --owner-map.",
      2,
      { cause },
    );
  }
  const map = new Map<string, string>();
  text.split(/\r?\n/).forEach((line, i) => {
    if (line.trim() === "" || line.startsWith("#")) return;
    const [folder = "", address = ""] = line.split("\t").map((cell) => cell.trim());
    if (address.includes("@") && folder !== "") map.set(folder, address.toLowerCase());
    else if (i > 0) {
      throw new UserError(
        "owner_map_row",
        `${path}, line ${i + 1}: expected an owner folder, a tab and an address, found "${line.slice(0, 80)}".`,
        "Fix that line, for example: crandell-s<TAB>sean.crandall@enron.com",
      );
    }
  });
  return map;
}

import { readFile } from "node:fs/promises";

const read = new Map<string, Promise<string>>();

/** The text of a program that lies beside this file and runs in the machine. */
export function readProgram(name: "inspect-path.py" | "run-notebook.py"): Promise<string> {
  const text = read.get(name) ?? readFile(new URL(`./${name}`, import.meta.url), "utf8");
  read.set(name, text);
  return text;
}

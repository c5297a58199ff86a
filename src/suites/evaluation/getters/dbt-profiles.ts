import { z } from "zod";
import { CannotGrade } from "../cannot-grade.js";
import { runCommand } from "../evaluation-context.js";
import type { Getter } from "./getter.js";
import { getVmFile } from "./vm-file.js";

const schema = z.looseObject({ dirs: z.array(z.string()), dest: z.string().min(1) });
const TIMEOUT_MS = 300_000;

/** `dbt_profiles`: the first profiles.yml of a list of folders; one that starts with `$` is asked of the machine. */
export const getDbtProfiles: Getter = async (args, context) => {
  const { dirs, dest } = schema.parse(args);
  for (const dir of dirs) {
    const folder = dir.startsWith("$") ? await readVariable(dir, context) : dir;
    if (folder === "") continue;
    const file = await getVmFile({ path: `${folder}/profiles.yml`, dest }, context);
    if (file !== null) return file;
  }
  return null;
};

async function readVariable(text: string, context: Parameters<Getter>[1]): Promise<string> {
  if (!/^\$\w+$/.test(text)) throw new CannotGrade("unsupported", `${text} is not the name of a variable`);
  // A machine that only holds files has no environment, in which the variable would be unset.
  if (!context.machine.canRun) return "";
  const { stdout } = await runCommand(context, ["/bin/bash", "-c", `echo "${text}"`], TIMEOUT_MS);
  return stdout.trim();
}

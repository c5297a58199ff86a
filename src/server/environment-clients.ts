// Writes the client of the training environment for a trainer.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { UserError } from "../platform/errors.js";
import { checkNewFolder, checkWritable, writeFileAtomically, writeFolderAtomically } from "../platform/files.js";
import { programVersion, readBuiltFile } from "../platform/program-files.js";
import { checkEnding } from "../trace-formats/output-files.js";

/** Python clients of the training environment, one per trainer. The common code is copied into each of them. */
const CLIENTS = {
  trl: { output: "art_e_trl.py", source: "trl_client.py" },
  verifiers: { output: "art_e_mail", source: "verifiers_client.py" },
  art: { output: "art_e_rollout.py", source: "art_client.py" },
} as const;

type Trainer = keyof typeof CLIENTS;
export const TRAINERS = Object.keys(CLIENTS) as [Trainer, ...Trainer[]];

/**
 * Writes the client and returns its absolute path. It is one file, or a package folder for verifiers.
 *
 * @throws UserError if the path already exists, because a user may have edited it
 */
export async function writeEnvironmentClient(trainer: Trainer, flag: string, output?: string): Promise<string> {
  const client = CLIENTS[trainer];
  const path = resolve(output ?? client.output);
  const code = withCommonCode(template(client.source));
  if (trainer !== "verifiers") {
    if (existsSync(path)) {
      throw new UserError(
        "output_exists",
        `${flag}: ${path} already exists.`,
        "Choose another file, or remove this one.",
      );
    }
    checkWritable(flag, output ?? client.output);
    checkEnding(flag, path, "python");
    await writeFileAtomically(path, [code]);
    return path;
  }
  checkNewFolder(flag, output ?? client.output);
  await writeFolderAtomically(flag, path, [
    ["art_e_mail.py", code],
    ["pyproject.toml", template("verifiers_pyproject.toml").replace("{version}", programVersion())],
    ["README.md", template("verifiers_readme.md")],
  ]);
  return path;
}

/** Replaces the import of the common code with the code itself, without imports that the client already has. */
function withCommonCode(code: string): string {
  const imports = new Set(code.match(/^(import|from) .*$/gm));
  const common = template("environment_client.py")
    .split("\n")
    .filter((line) => !imports.has(line));
  return code.replace(/^from environment_client import .*$/m, () => common.join("\n").trim());
}

function template(name: string): string {
  return readBuiltFile(`server/environment-clients/${name}`);
}

import { z } from "zod";
import { CollectedFile } from "../../spider2v/metric-function.js";
import { expandHome } from "../expand-home.js";
import { placeInFolder } from "../suite-files.js";
import { formatTime } from "./format-time.js";
import type { Getter } from "./getter.js";

const name = z.string().min(1);

const single = z.looseObject({
  path: name,
  dest: name,
  multi: z.literal(false).optional(),
  gives: z.array(z.int()).default([0]),
  time_suffix: z.boolean().default(false),
  time_format: z.string().default("%Y_%m_%d"),
});

const several = z.looseObject({
  path: z.array(name),
  dest: z.array(name),
  multi: z.literal(true),
  gives: z.array(z.int()).default([0]),
});

const schema = z.union([single, several]);

/**
 * `vm_file`: files of the machine into the folder of collected files, under the names of `dest`; a file fetched later
 * under the same name replaces it. `gives` says which are compared: one is a file, more are a list. `time_suffix` puts
 * the day before the extension of both names.
 */
export const getVmFile: Getter = async (args, { machine, options }) => {
  const config = schema.parse(args);
  const files =
    config.multi === true
      ? config.path.slice(0, config.dest.length).map((path, i) => [path, config.dest[i] ?? path] as const)
      : [[addSuffix(config.path, config), addSuffix(config.dest, config)] as const];
  const given: (CollectedFile | null)[] = [];
  for (const [i, [path, dest]] of files.entries()) {
    const local = await placeInFolder(options.workFolder, dest);
    const isThere = await machine.copyOut(expandHome(path), local);
    if (config.gives.includes(i)) given.push(isThere ? new CollectedFile(local) : null);
  }
  return given.length === 1 ? (given[0] ?? null) : given;
};

/** As at the origin, everything between the first and the second dot is the extension. */
function addSuffix(path: string, config: z.output<typeof single>): string {
  const [stem, extension] = path.split(".");
  if (!config.time_suffix || extension === undefined) return path;
  return `${stem}${formatTime(new Date(), config.time_format)}.${extension}`;
}

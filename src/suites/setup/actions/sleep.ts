import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { parseArguments } from "../../definition/parse-arguments.js";
import { DONE, type SetupAction } from "../setup-action.js";

const schema = z.looseObject({ seconds: z.number().min(0).max(3600) });

export const sleep: SetupAction = async (args, { options, signal }) => {
  const { seconds } = parseArguments(schema, args);
  await setTimeout(seconds * 1000 * (options.timeScale ?? 1), undefined, { signal });
  return DONE;
};

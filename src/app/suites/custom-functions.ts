import { resolve } from "node:path";
import { type CustomFunctions, NO_CUSTOM_FUNCTIONS } from "../../suites/custom/custom-functions.js";
import { loadCustomFunctions } from "../../suites/custom/load-custom-functions.js";

/** Those of the module that the user names, if any. */
export async function customFunctions(path: string | undefined): Promise<CustomFunctions> {
  return path === undefined ? NO_CUSTOM_FUNCTIONS : await loadCustomFunctions(resolve(path));
}

import { getVmCommandError, getVmCommandLine, getVmScriptOutput } from "./command-output.js";
import { getDbtProfiles } from "./dbt-profiles.js";
import type { Getter } from "./getter.js";
import { getLocalFile } from "./local-file.js";
import { getList, getRule } from "./rule.js";
import { getVmFile } from "./vm-file.js";

/** Those that run commands in the machine. */
export const SCRIPT_GETTERS: Readonly<Record<string, Getter>> = {
  vm_command_error: getVmCommandError,
  vm_command_line: getVmCommandLine,
  vm_script_output: getVmScriptOutput,
};

export const GETTERS: Readonly<Record<string, Getter>> = {
  ...SCRIPT_GETTERS,
  dbt_profiles: getDbtProfiles,
  list: getList,
  local_file: getLocalFile,
  rule: getRule,
  vm_file: getVmFile,
};

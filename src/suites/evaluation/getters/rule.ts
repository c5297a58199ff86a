import type { Getter } from "./getter.js";

/** `rule`: what the task's file says. */
export const getRule: Getter = async (args) => {
  if (args.rules === undefined) throw new Error("the rule has no rules");
  return args.rules;
};

/** `list`. */
export const getList: Getter = async (args) => {
  if (args.list === undefined) throw new Error("the list is missing");
  return args.list;
};

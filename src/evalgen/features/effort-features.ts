import { sumCost } from "../../domain/runs/cost.js";
import { DOES_NOT_APPLY, type Feature, listOf } from "./feature.js";

export const repeatedCalls: Feature = {
  meaning: "tool calls that were made before with the same arguments",
  of({ toolCalls }) {
    const seen = new Set<string>();
    const repeated = toolCalls.filter(({ name, arguments: args }) => {
      const call = `${name} ${JSON.stringify(args)}`;
      const isRepeat = seen.has(call);
      seen.add(call);
      return isRepeat;
    });
    return {
      value: repeated.length,
      detail: listOf(repeated.map(({ name, arguments: args }) => `${name}(${JSON.stringify(args)})`)),
    };
  },
};

export const unparsableCalls: Feature = {
  meaning: "tool calls whose arguments could not be parsed",
  of({ toolCalls }) {
    const odd = toolCalls.filter(({ errorKind }) => errorKind === "unparsable_call");
    return { value: odd.length, detail: listOf(odd.map(({ name }) => name)) };
  },
};

export const failedCalls: Feature = {
  meaning: "tool calls that failed",
  of({ toolCalls }) {
    const failed = toolCalls.filter(({ error }) => error !== null);
    return { value: failed.length, detail: listOf(failed.map(({ name, error }) => `${name}: ${error}`)) };
  },
};

export const turnCount: Feature = { meaning: "turns", of: ({ turns }) => ({ value: turns.length }) };

export const costUsd: Feature = {
  meaning: "cost of the model calls in US dollars, where the price is known",
  of: ({ turns }) => (turns.length === 0 ? DOES_NOT_APPLY : { value: sumCost(turns) }),
};

export const seconds: Feature = {
  meaning: "duration in seconds",
  of: ({ durationMs }) => ({ value: durationMs / 1_000 }),
};

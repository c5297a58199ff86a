import type { RunFlags } from "../run/run-flags.js";
import type { SectionName } from "./config-sections.js";
import type { ConfigSetting } from "./parse-config.js";

type Argv = Readonly<Record<string, unknown>>;

/** Flags that name something else than the file does, with the sections of the file that are about it. */
const REPLACES: readonly (readonly [flags: readonly (keyof RunFlags)[], sections: readonly SectionName[]])[] = [
  [
    ["agent", "agentCommand", "agentUrl", "apiUrl"],
    ["agent", "model"],
  ],
  [["modelId", "modelProvider"], ["model"]],
  [
    ["suite", "dataset", "useJson", "revision"],
    ["dataset", "suite"],
  ],
  [["judge", "noJudge"], ["judge"]],
  [["protocol"], ["agent", "judge"]],
];

/** What --protocol sets, beside the agent and the judge. */
const OF_PROTOCOL: readonly (keyof RunFlags)[] = ["split", "limit", "maxSources", "excludeKnownBad", "cutoff"];

/** What a stored run does not keep, and so comes from the file with --resume and --repeat too. */
const NOT_STORED = {
  sections: ["gates", "traces"] satisfies SectionName[] as readonly string[],
  flags: ["concurrency", "rpm", "tpm", "requestTimeout", "cache"] satisfies (keyof RunFlags)[] as readonly string[],
};

/** The settings of the file that count beside these flags, and those that the flags replace. */
export function mergeConfig(
  argv: Argv,
  settings: readonly ConfigSetting[],
): { readonly used: readonly ConfigSetting[]; readonly replaced: readonly ConfigSetting[] } {
  const sections = replacedSections(argv, settings);
  const ofStoredRun = argv.resume !== undefined || argv.repeat !== undefined;
  const isReplaced = ({ flag, section }: ConfigSetting) =>
    argv[flag] !== undefined ||
    sections.has(section) ||
    (argv.protocol !== undefined && OF_PROTOCOL.includes(flag)) ||
    (ofStoredRun && !NOT_STORED.sections.includes(section) && !NOT_STORED.flags.includes(flag));
  return {
    used: settings.filter((setting) => !isReplaced(setting)),
    replaced: settings.filter(isReplaced),
  };
}

/** A flag that says what the file says too replaces nothing else. */
function replacedSections(argv: Argv, settings: readonly ConfigSetting[]): ReadonlySet<string> {
  const differs = (name: string) =>
    argv[name] !== undefined && !settings.some(({ flag, value }) => flag === name && value === argv[name]);
  return new Set(REPLACES.flatMap(([flags, sections]) => (flags.some(differs) ? sections : [])));
}

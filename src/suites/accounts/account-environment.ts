/** `ART_E_ACCOUNT_SNOWFLAKE_PASSWORD`: the field `password` of `snowflake/settings.json`, in any case. */
export const ACCOUNT_PREFIX = "ART_E_ACCOUNT_";

type Environment = Readonly<Record<string, string | undefined>>;

/** The fields of an account's `settings.json` that variables give. `names`: its fields as the template spells them. */
export function fieldsFromEnvironment(
  name: string,
  names: readonly string[],
  env: Environment,
): Readonly<Record<string, string>> {
  const vendor = /^([^/]+)\/settings\.json$/.exec(name)?.[1];
  if (vendor === undefined) return {};
  const prefix = `${ACCOUNT_PREFIX}${variableWord(vendor)}_`;
  const spelling = new Map(names.map((field) => [variableWord(field), field]));
  return Object.fromEntries(
    Object.entries(env).flatMap(([variable, value]) => {
      if (!variable.startsWith(prefix) || value === undefined) return [];
      const word = variable.slice(prefix.length);
      return [[spelling.get(word) ?? word.toLowerCase(), value]];
    }),
  );
}

/** `dbt_cloud` of `dbt-cloud` in capitals. */
const variableWord = (text: string) => text.toUpperCase().replace(/[^A-Z0-9]/g, "_");

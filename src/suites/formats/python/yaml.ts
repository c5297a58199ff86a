import { parseDocument, type ScalarTag, type Tags } from "yaml";
import type { PythonValue } from "./values.js";

const BOOLEAN = "tag:yaml.org,2002:bool";
const TRUE = /^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const FALSE = /^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const EXPONENT_WITHOUT_POINT = /^[-+]?[0-9][0-9_]*[eE]/;

/** PyYAML does not take `y` and `n` for booleans. */
const booleans: ScalarTag[] = [
  { tag: BOOLEAN, default: true, test: TRUE, identify: (value) => value === true, resolve: () => true },
  { tag: BOOLEAN, default: true, test: FALSE, identify: (value) => value === false, resolve: () => false },
];

/** And `1e3` is a text to it. */
const plainExponent: ScalarTag = {
  tag: "tag:yaml.org,2002:str",
  default: true,
  test: EXPONENT_WITHOUT_POINT,
  resolve: (text) => text,
};

/** `yaml.safe_load`: YAML 1.1, one document, the last of equal keys wins. */
export function parseYaml(text: string): PythonValue {
  const document = parseDocument(text, {
    version: "1.1",
    intAsBigInt: true,
    uniqueKeys: false,
    customTags: (tags): Tags => [
      ...booleans,
      plainExponent,
      ...tags.filter((tag) => typeof tag !== "object" || tag.tag !== BOOLEAN),
    ],
  });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  return document.toJS({ mapAsMap: true, maxAliasCount: 1000 });
}

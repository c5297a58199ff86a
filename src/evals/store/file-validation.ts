// The result of a test in an eval file. The file can be edited, so its figures are checked before they are used.
import { sha256Of } from "../../platform/sha256.js";
import {
  type Agreement,
  type EvalDefinition,
  type EvalTest,
  type FileValidation,
  fileValidationSchema,
} from "../definition.js";
import { rejectionsOf } from "../test-eval/thresholds.js";
import { canonicalJson } from "./canonical-json.js";

type Figures = Omit<FileValidation, "figuresHash">;

/** Returns a test in the form for files. */
export function toFileValidation(report: EvalTest, definitionHash: string, testedAt: string): FileValidation {
  const { isImported: _, ...figures } = report;
  const checked = fileValidationSchema.omit({ figuresHash: true }).parse({ definitionHash, testedAt, ...figures });
  return { ...checked, figuresHash: hashFigures(checked) };
}

/**
 * Returns the test in a file, with its rejections derived from its figures. Returns null if the figures do not have the
 * hash that the export wrote, or contradict their own table of counts.
 */
export function fromFileValidation(
  { figuresHash, ...figures }: FileValidation,
  { kind }: Pick<EvalDefinition, "kind">,
): EvalTest | null {
  if (figuresHash !== hashFigures(figures) || !matchesCounts(figures)) return null;
  const { definitionHash: _, testedAt: __, ...report } = figures;
  return { ...report, rejections: rejectionsOf(report.thresholds, { ...report, kind }), isImported: true };
}

function hashFigures(figures: Figures): string {
  return `sha256:${sha256Of(canonicalJson(figures))}`;
}

const ROUNDING = 1e-9;

/** Whether the counts and rates follow from the confusion table, and each interval contains its rate. */
function matchesCounts({ agreement }: Pick<FileValidation, "agreement">): boolean {
  const {
    good,
    bad,
    confusion,
    weighted = confusion,
    truePositiveRate,
    trueNegativeRate,
    falseFailureRate,
  } = agreement;
  const { goodPassed, goodFailed, badPassed, badFailed } = weighted;
  const rates = [
    [truePositiveRate, goodPassed, goodFailed, good],
    [trueNegativeRate, badFailed, badPassed, bad],
    [falseFailureRate, goodFailed, goodPassed, good],
  ] as const;
  return (
    good === confusion.goodPassed + confusion.goodFailed &&
    bad === confusion.badPassed + confusion.badFailed &&
    hasPossibleWeights(agreement) &&
    rates.every(([{ value, low, high, n }, successes, failures, all]) => {
      if (n !== all) return false;
      if (value === null) return all === 0;
      const rate = successes / (successes + failures);
      return Math.abs(value - rate) < ROUNDING && (low ?? 1) <= value && value <= (high ?? 0);
    })
  );
}

/** Whether squares and expected weights can come from the number of labels in each cell. */
function hasPossibleWeights({ weighted, confusion }: Agreement): boolean {
  if (weighted === undefined) return true;
  const { squares, next, ...totals } = weighted;
  const cells = ["goodPassed", "goodFailed", "badPassed", "badFailed"] as const;
  return (
    Math.min(next.passed, next.failed) > 0 &&
    // By the inequality of Cauchy and Schwarz.
    cells.every((cell) => squares[cell] * confusion[cell] >= totals[cell] ** 2 * (1 - ROUNDING))
  );
}

import { readFileSync } from "node:fs";
import ts from "typescript";

/** A small change to a source file: the text from `start` to `end` is replaced. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** The trimmed line that contains it. */
  readonly code: string;
  readonly start: number;
  readonly end: number;
  readonly original: string;
  readonly replacement: string;
}

const K = ts.SyntaxKind;

/** Comparisons move their boundary instead of being reversed, because tests tend to miss boundaries. */
const OPERATORS: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [K.LessThanToken]: "<=",
  [K.LessThanEqualsToken]: "<",
  [K.GreaterThanToken]: ">=",
  [K.GreaterThanEqualsToken]: ">",
  [K.EqualsEqualsEqualsToken]: "!==",
  [K.ExclamationEqualsEqualsToken]: "===",
  [K.PlusToken]: "-",
  [K.MinusToken]: "+",
  [K.AsteriskToken]: "/",
  [K.SlashToken]: "*",
  [K.AmpersandAmpersandToken]: "||",
  [K.BarBarToken]: "&&",
  [K.PlusEqualsToken]: "-=",
};

/** Methods, each replaced with its opposite. */
const METHODS: Readonly<Record<string, string>> = { some: "every", every: "some", min: "max", max: "min" };

/** The mutants of a file, in the order of its text. */
export function mutantsOf(file: string): Mutant[] {
  return mutantsOfText(file, readFileSync(file, "utf8"));
}

export function mutantsOfText(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const add = (node: ts.Node, replacement: string) => {
    const start = node.getStart(source);
    const line = source.getLineAndCharacterOfPosition(start).line + 1;
    const code = (text.split("\n")[line - 1] ?? "").trim();
    mutants.push({ file, line, code, start, end: node.end, original: text.slice(start, node.end), replacement });
  };
  const visit = (node: ts.Node): void => {
    // Types and imports do not exist at run time.
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    mutate(node, add);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return mutants.sort((a, b) => a.start - b.start);
}

function mutate(node: ts.Node, add: (node: ts.Node, replacement: string) => void): void {
  if (ts.isBinaryExpression(node)) {
    const replacement = OPERATORS[node.operatorToken.kind];
    if (replacement !== undefined && !isConcatenation(node)) add(node.operatorToken, replacement);
  } else if (ts.isNumericLiteral(node)) {
    add(node, `(${node.getText()} + 1)`);
  } else if (node.kind === K.TrueKeyword) {
    add(node, "false");
  } else if (node.kind === K.FalseKeyword) {
    add(node, "true");
  } else if (ts.isPrefixUnaryExpression(node) && node.operator === K.ExclamationToken) {
    add(node, node.operand.getText());
  } else if (ts.isIfStatement(node)) {
    add(node.expression, "false");
  } else if (ts.isPropertyAccessExpression(node)) {
    const opposite = Object.hasOwn(METHODS, node.name.text) ? METHODS[node.name.text] : undefined;
    if (opposite !== undefined && ts.isCallExpression(node.parent)) add(node.name, opposite);
  }
}

/** The difference of two strings is NaN, which tests would detect for the wrong reason. */
function isConcatenation({ left, right }: ts.BinaryExpression): boolean {
  return [left, right].some((side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side));
}

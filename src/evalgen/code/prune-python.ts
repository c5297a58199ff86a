/** A statement at the margin of a Python module, with the names that it defines. */
interface Block {
  readonly names: readonly string[];
  readonly text: string;
}

const IMPORT = /^(?:import|from)\s/;

/**
 * The part of a Python module that some of its functions need: its imports that are used, and the constants and
 * functions that these refer to, in the order of the module. For modules that say nothing at the margin but imports,
 * constants, functions and comments.
 */
export function prunePython(source: string, wanted: readonly string[]): string {
  const blocks = blocksOf(source);
  const needed = new Set<Block>();
  const need = (names: readonly string[]) => {
    for (const block of blocks) {
      if (needed.has(block) || !block.names.some((name) => names.includes(name))) continue;
      needed.add(block);
      need(block.text.match(/\w+/g) ?? []);
    }
  };
  need(wanted);
  const kept = blocks.filter((block) => needed.has(block));
  const imports = kept.filter(({ text }) => IMPORT.test(text)).map(({ text }) => text);
  const rest = kept.filter(({ text }) => !IMPORT.test(text));
  return [imports.join("\n"), ...withGaps(rest)].filter((part) => part !== "").join("\n");
}

/** Two empty lines before a function and after it, one before the first of several constants. */
function withGaps(blocks: readonly Block[]): string[] {
  const isFunction = (block: Block | undefined) => block?.text.startsWith("def ") === true;
  return blocks.map((block, i) => {
    const gap = isFunction(block) || isFunction(blocks[i - 1]) ? "\n\n" : i === 0 ? "\n" : "";
    return `${gap}${block.text}`;
  });
}

function blocksOf(source: string): Block[] {
  const blocks: string[][] = [];
  for (const line of source.replace(/^"""[\s\S]*?"""\n/, "").split("\n")) {
    if (/^\w/.test(line)) blocks.push([line]);
    else if (!line.startsWith("#")) blocks.at(-1)?.push(line);
  }
  return blocks.map((lines) => {
    const text = lines.join("\n").trimEnd();
    const [, defined, imported, assigned] = /^(?:def (\w+)|(?:from \S+ )?import (\w+)|(\w+) =)/.exec(text) ?? [];
    return { text, names: [defined ?? imported ?? assigned ?? ""] };
  });
}

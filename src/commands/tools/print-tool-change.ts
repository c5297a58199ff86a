import type { Output } from "../cli/output.js";

export function printToolChange(id: string, change: "added" | "changed", out: Output): void {
  out.result(
    { id },
    () => `Tool ${id} is ${change}. Test it: art-e tools test ${id} '{…}'. Attach it: art-e agents attach AGENT ${id}`,
  );
}

/** Returns JSON with the keys of all objects in alphabetical order, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, Object.keys(keysOf(value)).sort());
}

/** Collects all keys at any depth. JSON.stringify uses the list to write them in this order. */
function keysOf(value: unknown, keys: Record<string, true> = {}): Record<string, true> {
  if (typeof value !== "object" || value === null) return keys;
  for (const [key, inner] of Object.entries(value)) {
    if (!Array.isArray(value)) keys[key] = true;
    keysOf(inner, keys);
  }
  return keys;
}

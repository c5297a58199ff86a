/**
 * Returns the items except false, null and undefined, for lists with conditional items: `compact([a, isLong && b])`.
 */
export function compact<T>(items: readonly (T | false | null | undefined)[]): T[] {
  return items.filter((item): item is T => item !== false && item !== null && item !== undefined);
}

/**
 * Returns the properties except null and undefined ones, for objects whose optional properties must be absent if
 * unknown. Allocates two objects, so do not use it per email.
 */
export function presentProperties<T extends object>(object: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(object).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}

/** Returns the properties except undefined ones. Null, which sets a field to null, remains. */
export function definedProperties<T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

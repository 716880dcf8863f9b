/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json;
}

/** True for a JSON object, false for lists and everything else. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Lays one object over another: objects are merged, everything else replaces, null takes a key out. */
export function overlay(base: JsonObject, over: JsonObject | undefined): JsonObject {
  const merged: Record<string, Json> = { ...base };
  for (const [key, value] of Object.entries(over ?? {})) {
    const below = merged[key];
    if (value === null) delete merged[key];
    else merged[key] = isObject(value) && isObject(below) ? overlay(below, value) : value;
  }
  return merged;
}

import { readFile } from 'node:fs/promises';
import { isObject, type Json, type JsonObject } from '../../src/rehearse/overlay.js';

/** The config's schema, as far as keys are concerned. */
export async function configSchema(): Promise<JsonObject> {
  return JSON.parse(await readFile('schemas/config.schema.json', 'utf8')) as JsonObject;
}

/** Every key a config may have that holds a value of its own, such as `verification.templates[].id`. */
export function leafKeys(schema: JsonObject, at = ''): string[] {
  const inner = innerOf(schema);
  if (inner.length === 0) return [at];
  return inner.flatMap(([name, below]) => leafKeys(below, join(at, name)));
}

/** The leaf keys that a part of a config gives a value to; a key the schema does not know is none. */
export function keysIn(schema: JsonObject, value: Json, at = ''): string[] {
  const inner = new Map(innerOf(schema));
  if (inner.size === 0) return [at];
  const given: [name: string, value: Json][] = Array.isArray(value)
    ? value.map((item: Json) => ['[]', item])
    : Object.entries(isObject(value) ? value : {}).map(([name, item]) => [inner.has('*') ? '*' : name, item]);
  return given.flatMap(([name, item]) => {
    const below = inner.get(name);
    return below === undefined ? [] : keysIn(below, item, join(at, name));
  });
}

/** What a schema describes one level down: its keys, any key as `*`, the items of a list as `[]`. */
function innerOf({ properties, additionalProperties, items }: JsonObject): [string, JsonObject][] {
  if (isObject(properties))
    return Object.entries(properties).filter((pair): pair is [string, JsonObject] => isObject(pair[1]));
  if (isObject(additionalProperties) && isObject(additionalProperties['properties']))
    return [['*', additionalProperties]];
  return isObject(items) && isObject(items['properties']) ? [['[]', items]] : [];
}

function join(at: string, name: string): string {
  return at === '' || name === '[]' ? `${at}${name}` : `${at}.${name}`;
}

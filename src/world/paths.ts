/** Bytes that are not UTF-8 travel as lone surrogates U+DC80–U+DCFF: one byte 0x80–0xFF each. */
const LONE = /\p{Surrogate}/u;
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Turns the bytes of a name into a string that `pathBytes` turns back into the same bytes. */
export function decodePath(bytes: Buffer): string {
  try {
    return strict.decode(bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error;
  }
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    if (at > from) parts.push(bytes.toString('utf8', from, at));
    parts.push(String.fromCharCode(0xdc00 + (bytes[at] ?? 0)));
    at += 1;
    from = at;
  }
  parts.push(bytes.toString('utf8', from));
  return parts.join('');
}

/** Length of the well-formed UTF-8 sequence at this place, 0 where there is none. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length =
    first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  const second = bytes[at + 1] ?? 0;
  // Overlong forms, surrogates and values beyond U+10FFFF are told by the second byte.
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return 0;
  for (let next = at + 2; next < at + length; next += 1) {
    if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}

/** The bytes a decoded path stands for. */
export function pathBytes(path: string): Buffer {
  if (!LONE.test(path)) return Buffer.from(path);
  const parts: Buffer[] = [];
  let from = 0;
  for (const { index, 0: found } of path.matchAll(/\p{Surrogate}/gu)) {
    const code = found.charCodeAt(0);
    if (code < 0xdc80 || code > 0xdcff)
      throw new Error(`a path holds the surrogate U+${code.toString(16)}, which stands for no byte`);
    parts.push(Buffer.from(path.slice(from, index)), Buffer.of(code - 0xdc00));
    from = index + 1;
  }
  parts.push(Buffer.from(path.slice(from)));
  return Buffer.concat(parts);
}

/** The form in which node:fs takes this path: a string where it is well-formed, else its bytes. */
export function fsPath(path: string): string | Buffer {
  return LONE.test(path) ? pathBytes(path) : path;
}

/** Splits git's `-z` output into decoded items; the terminator after the last one adds none. */
export function splitZ(buf: Buffer): string[] {
  if (buf.length === 0) return [];
  const items = decodePath(buf).split('\0');
  if (items.at(-1) === '') items.pop();
  return items;
}

/** A path below a root, in the form node:fs takes. */
export function absolute(root: string, path: string): string | Buffer {
  return fsPath(path === '' ? root : `${root}/${path}`);
}

/** The folder a relative path lies in; '' for the root. */
export function parentOf(path: string): string {
  const at = path.lastIndexOf('/');
  return at < 0 ? '' : path.slice(0, at);
}

/** Whether a path lies in a folder of installed packages. */
export function isInstalled(path: string): boolean {
  return path.startsWith('node_modules/') || path.includes('/node_modules/');
}

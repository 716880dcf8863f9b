// Everything a terminal, a file name or Markdown could act on: control characters (tab and line feed
// stay), direction marks, invisible and tag characters.
const HIDDEN =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The text without control, direction and invisible characters; line breaks become `\n`. */
export function clean(text: string): string {
  return text
    .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
    .replace(LONE_SURROGATE, byteOf)
    .replace(HIDDEN, '');
}

/** The cleaned text on one line, runs of white space made one space. */
export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim();
}

// Invisible too, but some scripts and emoji need them: kept in prose, shown in a path.
const JOINERS = /[\u115f\u1160\u180e\u3164\uffa0]|\u034f|\u200c|\u200d/g;

/** A path as it can be shown: what can't be seen is written as an escape, so two paths never become the same text. */
export function visible(path: string): string {
  return path
    .replaceAll('\\', '\\\\')
    .replace(LONE_SURROGATE, byteOf)
    .replace(HIDDEN, escapeOf)
    .replace(JOINERS, escapeOf)
    .replace(/[\t\n\r\u2028\u2029]/g, escapeOf);
}

/** At most `max` UTF-16 units; a cut ends in `…` and never splits a character. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  if (max <= 1) return '…'.slice(0, Math.max(0, max));
  return `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

function byteOf(unit: string): string {
  const code = unit.charCodeAt(0);
  return code >= 0xdc80 && code <= 0xdcff ? `\\x${(code - 0xdc00).toString(16)}` : '\ufffd';
}

function escapeOf(found: string): string {
  const code = found.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
}

'use strict';
// Loaded into a real `relais` by `node --require`: counts every step that changes something outside the process, and
// lets the one step that RELAIS_FAULT names go wrong. What it wraps is node's own, so a new step joins by itself.
const childProcess = require('node:child_process');
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');

const { appendFileSync } = fs;
const { RELAIS_FAULT_TRACE: trace, RELAIS_FAULT: plan = '' } = process.env;
// "<point>:<before|after>:<SIGKILL|SIGTERM|exception|ENOSPC>"
const [wanted, side, fault] = plan.split(':');

let points = 0;
let quiet = 0;
let phase = 'START';

/** Steps of node:fs that change something; the same names exist with callbacks, with promises and with `Sync`. */
const CHANGING = [
  'appendFile', 'chmod', 'chown', 'copyFile', 'cp', 'fchmod', 'fchown', 'fdatasync', 'fsync', 'ftruncate', 'futimes',
  'lchown', 'link', 'lutimes', 'mkdir', 'mkdtemp', 'rename', 'rm', 'rmdir', 'symlink', 'truncate', 'unlink', 'utimes',
  'write', 'writeFile', 'writev',
]; // prettier-ignore
const OF_HANDLES = [
  'appendFile',
  'chmod',
  'chown',
  'datasync',
  'sync',
  'truncate',
  'utimes',
  'write',
  'writeFile',
  'writev',
];
/** These take space on the disk. */
const WRITING = new Set([
  'appendFile',
  'copyFile',
  'cp',
  'link',
  'mkdir',
  'mkdtemp',
  'open',
  'rename',
  'symlink',
  'write',
  'writeFile',
  'writev',
  'fsync',
  'sync',
  'datasync',
  'fdatasync',
]);

/** One more step: its number, unless it is part of one that is counted already. */
function point(kind, what) {
  if (quiet > 0) return 0;
  points += 1;
  if (trace) {
    quiet += 1;
    appendFileSync(
      trace,
      `${JSON.stringify({ point: points, phase, kind, what: String(what).slice(-120), writes: WRITING.has(kind) })}\n`,
    );
    quiet -= 1;
  }
  return points;
}

/** Exceptions are of the disk's kind, or of none. */
const CODES = [undefined, 'EACCES', 'EROFS', 'EMFILE'];

/** What the fault does at this side of this point: an error to give, or nothing. */
function strike(number, at, kind) {
  if (String(number) !== wanted || at !== side) return undefined;
  if (fault === 'SIGKILL' || fault === 'SIGTERM') {
    process.kill(process.pid, fault);
    return undefined;
  }
  const code = fault === 'ENOSPC' ? 'ENOSPC' : CODES[number % CODES.length];
  if (code !== undefined) return Object.assign(new Error(`${code}: injected, ${kind}`), { code, syscall: kind });
  return new Error(`an injected exception, ${kind}`);
}

function named(value) {
  return typeof value === 'string' || Buffer.isBuffer(value) ? value : '';
}

function opensForWriting(flags) {
  return typeof flags === 'number'
    ? (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT)) !== 0
    : /[wa+]/.test(flags ?? 'r');
}

/** A full disk takes half of what is written. */
function half(kind, args) {
  const [target, data, ...rest] = args;
  if (
    fault !== 'ENOSPC' ||
    side !== 'after' ||
    !kind.startsWith('write') ||
    (typeof data !== 'string' && !Buffer.isBuffer(data))
  )
    return args;
  if (typeof data !== 'string' && rest.length > 0 && typeof rest[0] === 'number') return args;
  return [target, data.slice(0, data.length >> 1), ...rest];
}

function wrapSync(owner, name, kind) {
  const real = owner[name];
  owner[name] = function (...args) {
    if (kind === 'open' && !opensForWriting(args[1])) return real.apply(this, args);
    const number = point(kind, named(args[0]));
    const before = strike(number, 'before', kind);
    if (before) throw before;
    // Some of these are made of others, which would be counted as well.
    quiet += 1;
    let result;
    try {
      result = real.apply(this, String(number) === wanted ? half(kind, args) : args);
    } finally {
      quiet -= 1;
    }
    const after = strike(number, 'after', kind);
    if (after) throw after;
    return result;
  };
}

function wrapCallback(owner, name) {
  const real = owner[name];
  owner[name] = function (...args) {
    if (name === 'open' && !opensForWriting(typeof args[1] === 'function' ? 'r' : args[1]))
      return real.apply(this, args);
    const done = args.pop();
    const number = point(name, named(args[0]));
    const before = strike(number, 'before', name);
    if (before) return void process.nextTick(done, before);
    return real.call(this, ...(String(number) === wanted ? half(name, args) : args), (error, ...results) => {
      const after = strike(number, 'after', name);
      done(error ?? after ?? error, ...results);
    });
  };
}

function wrapPromise(owner, name, isHandle) {
  const real = owner[name];
  owner[name] = async function (...args) {
    if (name === 'open' && !opensForWriting(args[1])) return withHandles(await real.apply(this, args));
    const number = point(name, isHandle ? 'a handle' : named(args[0]));
    const before = strike(number, 'before', name);
    if (before) throw before;
    const given = isHandle ? half(name, [undefined, ...args]).slice(1) : half(name, args);
    const result = await real.apply(this, String(number) === wanted ? given : args);
    const after = strike(number, 'after', name);
    if (after) {
      if (name === 'open') await result.close();
      throw after;
    }
    return name === 'open' ? withHandles(result) : result;
  };
}

let handles = 0;
/** The class of file handles is not exported: the first one shows it. */
function withHandles(handle) {
  if (handles++ === 0) for (const name of OF_HANDLES) wrapPromise(Object.getPrototypeOf(handle), name, true);
  return handle;
}

function wrapChildren() {
  const { spawn, spawnSync } = childProcess;
  childProcess.spawn = function (program, args, ...rest) {
    const what = [program, ...(Array.isArray(args) ? args : [])].join(' ');
    const started = point('start', what);
    const before = strike(started, 'before', 'spawn');
    if (before) throw before;
    const child = spawn.call(this, program, args, ...rest);
    const after = strike(started, 'after', 'spawn');
    child.once('exit', () => {
      const ended = point('end', what);
      strike(ended, 'before', 'end');
      setImmediate(() => strike(ended, 'after', 'end'));
    });
    if (after) {
      child.kill('SIGKILL');
      throw after;
    }
    return child;
  };
  childProcess.spawnSync = function (program, args, ...rest) {
    const number = point('start', [program, ...(Array.isArray(args) ? args : [])].join(' '));
    const before = strike(number, 'before', 'spawnSync');
    if (before) throw before;
    const result = spawnSync.call(this, program, args, ...rest);
    const after = strike(number, 'after', 'spawnSync');
    if (after) throw after;
    return result;
  };
}

// Removing a tree is made of the removals in it, which are counted.
for (const name of ['open', ...CHANGING]) {
  if (fs[`${name}Sync`] && name !== 'rm') wrapSync(fs, `${name}Sync`, name);
  if (fs[name] && name !== 'rm') wrapCallback(fs, name);
  if (fs.promises[name] && name !== 'rm') wrapPromise(fs.promises, name, false);
}
wrapChildren();
syncBuiltinESMExports();

// The phases are announced on stderr.
const write = process.stderr.write.bind(process.stderr);
process.stderr.write = (text, ...rest) => {
  const found = /^([A-Z]+) {2,}/.exec(String(text));
  if (found) [, phase] = found;
  return write(text, ...rest);
};
process.on('exit', () => {
  phase = 'EXIT';
});

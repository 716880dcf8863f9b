const SMALL = 1000;

/** Adds which of the ratios promised in the docs this run kept; a size that was not measured is left out. */
export function withTargets(found) {
  const small = found.repositories.find(({ files }) => files < SMALL);
  const large = found.repositories.find(({ files }) => files === 100_000);
  const rows = [
    ['relais --help / node -e 0', 1.5, found.start],
    ['relais status --preflight / node -e 0', 3, small],
    ['tick SUCCESS / node -e 0', 8, small],
    ['tick SUCCESS / git status', 8, large],
    ['tick STOP / git status', 8, large],
  ];
  const speed = rows
    .filter(([, , from]) => from !== undefined)
    .map(([what, at_most, from]) => target(what, from.files ?? null, at_most, from.ratios[what]));
  const memory = found.repositories.map(({ files, peak_memory_mb: { success, stop } }) =>
    target('peak memory in MB', files, 300, Math.max(success, stop)),
  );
  return { ...found, targets: [...speed, ...memory] };
}

function target(what, files, at_most, measured) {
  return { what, files, at_most, measured, kept: measured <= at_most };
}

/** The result for people. */
export function render({ machine, runs, agent, start, repositories, targets }) {
  const lines = [
    `node ${machine.node}, ${machine.git}, ${machine.cpus} processors, ${machine.platform}; medians of ${runs} runs, agents: ${agent}`,
    ...(machine.load_before > machine.cpus / 2
      ? [`the machine was busy before the start (load ${machine.load_before}): times are too long, ratios uncertain`]
      : []),
    '',
    ...table('start-up', start),
    ...repositories.flatMap(repository),
    'targets',
    ...targets.map(
      ({ what, files, at_most, measured, kept }) =>
        `  ${kept ? 'kept  ' : 'MISSED'}  ${what}${files === null ? '' : ` at ${files} files`}: ${measured} (at most ${at_most})`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function repository(found) {
  return [
    ...table(`${found.files} files`, found).slice(0, -1),
    ...Object.entries(found.phases_ms).map(
      ([name, phases]) =>
        `  ${name} by phase, ms: ${Object.entries(phases)
          .map(([phase, ms]) => `${phase} ${Math.round(ms)}`)
          .join(', ')}`,
    ),
    `  git processes: ${found.git_processes.success} in a SUCCESS, ${found.git_processes.stop} in a STOP; peak memory: ${found.peak_memory_mb.success} and ${found.peak_memory_mb.stop} MB`,
    '',
  ];
}

function table(title, { times, ratios }) {
  const rows = Object.entries(times).map(([name, { median_ms, min_ms, max_ms }]) => {
    const against = Object.entries(ratios)
      .filter(([pair]) => pair.startsWith(`${name} / `))
      .map(([pair, ratio]) => `${ratio} × ${pair.slice(name.length + 3)}`);
    const spread = `(${Math.round(min_ms)}–${Math.round(max_ms)})`;
    return `  ${name.padEnd(27)}${String(Math.round(median_ms)).padStart(7)} ms ${spread.padEnd(15)} ${against.join(', ')}`.trimEnd();
  });
  return [title, ...rows, ''];
}

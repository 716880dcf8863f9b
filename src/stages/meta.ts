import type { Meta } from '../generated/types.js';
import type { Outcome } from '../outcome.js';
import type { CallRecord, Run } from './run.js';

/** What the record of a tick does not say itself. */
interface MetaFacts {
  readonly configSha256: string;
  readonly containment: string;
  readonly warnings: readonly string[];
  readonly commit: string | undefined;
}

/** Everything about a tick that the report has no room for, uncut. */
export function buildMeta(run: Run, ending: Outcome, facts: MetaFacts): Meta {
  const { record } = run;
  const { baseline, measured } = record;
  const changes = new Map(measured?.changes.map((change) => [change.path, change]));
  return {
    run_id: run.id,
    sequence: run.state.sequence,
    config_sha256: facts.configSha256,
    task: record.task ?? null,
    repository: { object_format: run.repository.objectFormat },
    base_commit: baseline?.head.commit ?? '',
    base_tree: baseline?.tree ?? '',
    judged_tree: measured?.tree ?? null,
    commit: facts.commit ?? null,
    rejected_ref: record.rejectedRef ?? null,
    kept_apart: record.keptApart ?? null,
    head_before: baseline?.head.ref ?? baseline?.head.commit ?? '',
    head_after_build: measured?.headMovedTo ?? baseline?.head.commit ?? '',
    refs_moved: (measured?.refsMoved ?? []).map(({ ref, before, after }) => ({
      ref,
      before: before ?? null,
      after: after ?? null,
    })),
    touched: (measured?.touched ?? []).map((path) => {
      const change = changes.get(path.path);
      return {
        path: path.path,
        change: path.change,
        kind: path.kind,
        mode_before: change?.before?.mode ?? null,
        mode_after: change?.after?.mode ?? null,
        lines_added: path.linesAdded,
        lines_deleted: path.linesDeleted,
        estimated: path.estimated,
      };
    }),
    ignored_changed: [...(measured?.ignoredChanged ?? [])],
    not_in_tree: [...(measured?.notInTree ?? [])],
    metadata_changed: [...(measured?.metadataChanged ?? [])],
    containment: facts.containment,
    calls: record.calls.map((call) => describeCall(call)),
    builder_result: record.builderResult ?? null,
    builder_output_valid: record.builderOutputValid ?? null,
    evidence: [...ending.evidence],
    warnings: [...facts.warnings],
    leftovers: [...record.leftovers],
    ...(record.salvagedRunId !== undefined && { salvaged_run_id: record.salvagedRunId }),
  };
}

function describeCall({ role, result, countedUsd }: CallRecord): Meta['calls'][number] {
  const { call } = result;
  return {
    role,
    agent: call.agent,
    argv: [...call.argv],
    version: call.version ?? null,
    kind: result.kind,
    cost_usd: call.costUsd,
    cost_counted_usd: countedUsd,
    turns: call.turns ?? null,
    duration_ms: Math.round(call.durationMs),
    tokens: call.tokens === undefined ? null : { ...call.tokens },
    ...(result.kind !== 'answered' && { message: result.message }),
  };
}

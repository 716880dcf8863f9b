import type { ChildEnd, ChildRequest } from '../model.js';

/** Who is asked: the Brain, the Hands, and the two readers of an audit cycle. */
export type Role = 'orchestrator' | 'builder' | 'auditor' | 'refiner';

/** What the config says about the agent program itself. */
export interface AgentOptions {
  readonly command: string;
  readonly outputFormat: 'json' | 'stream-json';
  readonly noSessionPersistence: boolean;
  readonly permissionMode: string;
  /** The config's comma-separated list; used only where `tools` is `edit`. */
  readonly allowedTools: string;
}

/** One question to one agent, in the runner's words. */
export interface AgentRequest {
  readonly role: Role;
  readonly systemPrompt: string;
  readonly userPrompt: string;
  readonly tools: 'none' | 'read' | 'edit';
  readonly model: string;
  readonly fallbackModel?: string;
  readonly maxTurns: number;
  readonly maxCostUsd: number;
  /** The text of a JSON schema (already known to parse) for the answer; used only where there is more than one turn. */
  readonly outputSchema?: string;
  readonly workTree: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** A private folder outside the repository. */
  readonly scratchDir: string;
  /** A UUID, used once. */
  readonly sessionId: string;
  readonly options: AgentOptions;
  /** The environment the runner was started with. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The clock a limit's reset time is read against; the system's where absent. */
  readonly now?: () => Date;
}

/** Exactly what will be started for a request. */
export interface Invocation {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** Files to be written, privately, before the start. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly stop: NonNullable<ChildRequest['stop']>;
  readonly maxOutputBytes: number;
  readonly stdoutFile: string;
}

/** What one call cost and how it went, whatever its result. */
export interface CallFacts {
  readonly agent: string;
  readonly argv: readonly string[];
  readonly version?: string;
  /** null = unknown; it is then counted at its cap. */
  readonly costUsd: number | null;
  readonly tokens?: Readonly<Record<string, number>>;
  readonly turns?: number;
  /** Names of tools the program refused to the model. */
  readonly denials: readonly string[];
  readonly durationMs: number;
  /** Something the operator should see although the call went well (a limit is near). */
  readonly notice?: string;
}

/** Why a call failed, as far as the program's words and exit tell. */
export type FailureClass =
  | 'not_started'
  | 'refused'
  | 'killed'
  | 'output_cap'
  | 'no_output'
  | 'unreadable'
  | 'empty'
  | 'not_asked'
  | 'auth'
  | 'billing'
  | 'throttled'
  | 'server'
  | 'network'
  | 'model'
  | 'too_long'
  | 'refusal'
  | 'max_output'
  | 'invalid_request'
  | 'max_turns'
  | 'max_budget'
  | 'schema'
  | 'unknown';

/** The one typed result of a call; nothing else an agent program says is used. */
export type AgentResult =
  | { readonly kind: 'answered'; readonly call: CallFacts; readonly text: string; readonly structured?: unknown }
  | { readonly kind: 'failed'; readonly call: CallFacts; readonly class: FailureClass; readonly message: string }
  | { readonly kind: 'limited'; readonly call: CallFacts; readonly message: string; readonly until?: string }
  | { readonly kind: 'timed_out'; readonly call: CallFacts; readonly message: string }
  | { readonly kind: 'interrupted'; readonly call: CallFacts; readonly message: string };

/** How doctor asks an agent program about itself without spending anything. */
export interface AgentProbe {
  readonly version: readonly string[];
  /** Exit 0 = logged in. */
  readonly login: readonly string[];
  readonly help: readonly string[];
  /** Flags that must be listed by `help`. */
  readonly neededFlags: readonly string[];
}

/** One agent program behind one type; both functions are pure. */
export interface Agent {
  readonly name: string;
  /** What this program cannot do for Relais, in sentences for the operator. */
  readonly cannot: readonly string[];
  plan(request: AgentRequest): Invocation;
  read(end: ChildEnd, request: AgentRequest): AgentResult;
  readonly probe?: AgentProbe;
  /** The user's own settings files of this program: the Hands could change what the next call does. */
  settings?(env: Readonly<Record<string, string | undefined>>): readonly SettingsFile[];
}

/** One settings file; with `key` only that part of its JSON, where the program itself writes the rest. */
export interface SettingsFile {
  readonly path: string;
  readonly key?: string;
}

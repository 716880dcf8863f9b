// Generated from schemas/ by `npm run gen`. Do not edit.
import type { ErrorObject } from 'ajv';

/** True when the value matches; the errors of the last call stand in `errors`. Defaults are filled in. */
export interface Validator {
  (value: unknown): boolean;
  errors?: ErrorObject[] | null;
}

export declare const blocked: Validator;
export declare const builder_result: Validator;
export declare const config: Validator;
export declare const lock: Validator;
export declare const meta: Validator;
export declare const report: Validator;
export declare const state: Validator;
export declare const task: Validator;

/** What commands about jobs take: `{ jobs: number[] }`, or nothing for the jobs chosen in the sidebar. Pure. */

import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

/** `{ jobs: number[] }`, and what they are for. */
export const jobsArgs = (description: string) =>
  ({
    args: {
      type: 'object',
      properties: {
        jobs: { type: 'array', items: { type: 'number' }, description }
      }
    }
  }) as const;

export const JOBS_ARGS = jobsArgs(
  'Ids of jobs; without it, the jobs chosen in the sidebar'
);

export const NO_ARGS = { args: { type: 'object', properties: {} } } as const;

/** The ids that a command was given, or those chosen. */
export function idsOf(
  args: ReadonlyPartialJSONObject,
  chosen: readonly number[]
): readonly number[] {
  return Array.isArray(args['jobs']) ? args['jobs'].map(Number) : chosen;
}

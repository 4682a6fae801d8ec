/** What may be done with a job in which state, and to which part of the list it belongs. Pure tables. */

import type { JobRecord, JobState } from '../api/schema';

export type Section = 'running' | 'waiting' | 'held' | 'ended';

export const SECTIONS: readonly Section[] = [
  'running',
  'waiting',
  'held',
  'ended'
];

const SECTION_OF: Record<JobState, Section> = {
  pending: 'waiting',
  held: 'held',
  starting: 'running',
  running: 'running',
  stopping: 'running',
  suspended: 'waiting',
  succeeded: 'ended',
  failed: 'ended',
  cancelled: 'ended'
};

export type Action =
  'cancel' | 'hold' | 'release' | 'requeue' | 'front' | 'raise' | 'lower';

/** The daemon decides; this only keeps from offering what it would refuse. */
const ACTIONS_OF: Record<JobState, readonly Action[]> = {
  pending: ['cancel', 'hold', 'front', 'raise', 'lower'],
  held: ['cancel', 'release', 'raise', 'lower'],
  starting: ['cancel', 'requeue'],
  running: ['cancel', 'requeue'],
  stopping: ['cancel'],
  suspended: ['cancel', 'requeue'],
  succeeded: ['requeue'],
  failed: ['requeue'],
  cancelled: ['requeue']
};

export const PRIORITIES = ['low', 'normal', 'high'] as const;
export type Priority = (typeof PRIORITIES)[number];

export function sectionOf(job: JobRecord): Section {
  return SECTION_OF[job.state as JobState];
}

export function hasEnded(job: { state: string }): boolean {
  return SECTION_OF[job.state as JobState] === 'ended';
}

export function isHolding(job: { state: string }): boolean {
  return SECTION_OF[job.state as JobState] === 'running';
}

/** May this be offered for the job? */
export function isPossible(action: Action, job: JobRecord): boolean {
  if (!job.mine || !ACTIONS_OF[job.state as JobState].includes(action)) {
    return false;
  }
  if (action === 'front') {
    return job.position !== 1; // it waits for other jobs, or behind them
  }
  const class_ = PRIORITIES.indexOf(job.priority as Priority);
  if (action === 'raise') {
    return class_ < PRIORITIES.length - 1;
  }
  return action === 'lower' ? class_ > 0 : true;
}

/** The class above or below. */
export function neighbour(priority: string, by: 1 | -1): Priority {
  const at = PRIORITIES.indexOf(priority as Priority) + by;
  return PRIORITIES[
    Math.max(0, Math.min(at, PRIORITIES.length - 1))
  ] as Priority;
}

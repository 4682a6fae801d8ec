/** What the magic saved into the notebook with a card, read back. Pure. */

import {
  JOB_RECORD_DEFAULTS,
  type JobRecord,
  type LossRecord
} from '../api/schema';

/** The record, and what stands beside it. */
export interface ISaved extends Partial<JobRecord> {
  id: number;
  words?: { pill?: string; beside?: string; detail?: string };
  losses?: (number | null)[];
  notes?: string[];
  returned?: string[] | null;
  has_landed?: boolean;
  must_fetch?: boolean;
}

/** The job as it stood when the card was saved. */
export function savedJob(saved: ISaved): JobRecord {
  return {
    ...JOB_RECORD_DEFAULTS,
    user: '',
    name: '',
    state: 'pending',
    ...saved
  };
}

/** Its last metric as it stood then. */
export function savedLoss(saved: ISaved): LossRecord | undefined {
  const metrics = saved.metrics ?? {};
  const name =
    'loss' in metrics
      ? 'loss'
      : Object.keys(metrics).find(n => n !== 'step' && n !== 'epoch');
  if (name === undefined) {
    return undefined;
  }
  const value = metrics[name];
  const epoch = metrics['epoch'];
  return {
    job: saved.id,
    name,
    value: typeof value === 'number' ? value : null,
    step: null,
    epoch: typeof epoch === 'number' ? epoch : null,
    spark: saved.losses ?? [],
    mark:
      typeof value === 'number' ? '' : typeof value === 'string' ? value : 'NaN'
  };
}

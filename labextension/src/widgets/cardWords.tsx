/** What a card says of its job: the state as a word, what stands beside it, the GPU's line. */

import * as React from 'react';

import type { GpuRecord, JobRecord } from '../api/schema';
import {
  clock,
  duration,
  elapsed,
  limit,
  ordinal,
  size,
  where
} from '../model/format';
import { hasEnded, isHolding } from '../model/states';
import { tidy } from '../model/text';
import { useLab } from './context';

/** GPU 97 % · 48.9 of 80.0 GB. */
export function gpuLine(gpu: GpuRecord, isAlone: boolean): string {
  if (gpu.kind === 'cpu_slot') {
    return '';
  }
  const used =
    gpu.utilization_percent === null
      ? 'n/a'
      : `${gpu.utilization_percent.toFixed(0)} %`;
  const memory =
    gpu.memory_used_bytes === null || gpu.memory_total_bytes === null
      ? ''
      : ` · ${(gpu.memory_used_bytes / 1e9).toFixed(1)} of ${size(gpu.memory_total_bytes)}`;
  return `${isAlone ? 'GPU' : tidy(gpu.label, 40)} ${used}${memory}`;
}

export interface IPartProps {
  job: JobRecord;
  now: Date;
  isLive: boolean;
}

export function Pill({ job }: IPartProps): React.JSX.Element {
  const { texts } = useLab();
  const ran = job.ran_s === null ? null : duration(job.ran_s);
  const said = (alone: string, after: string): string =>
    ran === null ? alone : after;
  const words: Record<string, string> = {
    pending:
      job.position === null
        ? texts.__('waiting')
        : texts.__('waiting, %1', ordinal(job.position)),
    held: texts.__('held'),
    starting: texts.__('starting'),
    running: texts.__('running'),
    stopping: texts.__('stopping'),
    suspended: texts.__('suspended'),
    succeeded: said(
      texts.__('succeeded'),
      texts.__('succeeded in %1', ran ?? '')
    ),
    failed: said(texts.__('failed'), texts.__('failed after %1', ran ?? '')),
    cancelled: said(
      texts.__('cancelled'),
      texts.__('cancelled after %1', ran ?? '')
    )
  };
  return <>{words[job.state] ?? job.state}</>;
}

export function Beside({ job, now, isLive }: IPartProps): React.JSX.Element {
  const { texts } = useLab();
  if (!isLive && !hasEnded(job)) {
    return (
      <>{texts.__('as it was saved; this server does not know this job')}</>
    );
  }
  if (job.state === 'pending') {
    return (
      <>
        {job.expected_start_at === null
          ? ''
          : texts.__('starts about %1', clock(job.expected_start_at, now))}
      </>
    );
  }
  const parts = [where(job)];
  if (isHolding(job)) {
    const ran = elapsed(job, now);
    const of = job.request.time_limit_s;
    if (ran !== null) {
      parts.push(
        of === null
          ? duration(ran)
          : texts.__('%1 of %2', duration(ran), limit(of))
      );
    }
  } else if (job.started_at !== null && job.waited_s !== null) {
    parts.unshift(texts.__('waited %1', duration(job.waited_s)));
  }
  if (job.attempt > 1) {
    parts.push(texts.__('attempt %1', job.attempt));
  }
  return <>{parts.filter(Boolean).join(' · ')}</>;
}

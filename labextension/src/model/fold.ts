/** What the page knows, and how a message changes it. Pure: values in, values out. */

import { gpuOf, jobOf } from '../api/refill';
import type {
  Change,
  DaemonRecord,
  GpuRecord,
  JobRecord,
  LossRecord,
  Refresh
} from '../api/schema';

export interface IView {
  /** false until the first message */
  readonly isKnown: boolean;
  readonly daemon: DaemonRecord | null;
  /** "" while the daemon answers */
  readonly down: string;
  readonly mayStart: boolean;
  readonly me: string;
  readonly jobs: ReadonlyMap<number, JobRecord>;
  readonly gpus: readonly GpuRecord[];
  readonly losses: ReadonlyMap<number, LossRecord>;
  /** ended jobs that the daemon knows and this page does not */
  readonly older: number;
}

export const NOTHING: IView = {
  isKnown: false,
  daemon: null,
  down: '',
  mayStart: false,
  me: '',
  jobs: new Map(),
  gpus: [],
  losses: new Map(),
  older: 0
};

/** The view after a message. */
export function fold(view: IView, message: Refresh | Change): IView {
  return message.type === 'refresh'
    ? refreshed(message)
    : changed(view, message);
}

function refreshed(message: Refresh): IView {
  return {
    isKnown: true,
    daemon: message.daemon,
    down: message.down,
    mayStart: message.may_start,
    me: message.me,
    jobs: new Map(message.jobs.map(row => [row.id, jobOf(row)])),
    gpus: message.gpus.map(gpuOf),
    losses: new Map(message.losses.map(loss => [loss.job, loss])),
    older: message.older
  };
}

function changed(view: IView, message: Change): IView {
  const rows = message.jobs ?? [];
  const forgotten = message.forgotten ?? [];
  const losses = message.losses ?? [];
  return {
    ...view,
    jobs:
      rows.length === 0 && forgotten.length === 0
        ? view.jobs
        : withJobs(view.jobs, rows.map(jobOf), forgotten),
    gpus: message.gpus ? message.gpus.map(gpuOf) : view.gpus,
    losses:
      losses.length === 0
        ? view.losses
        : new Map([...view.losses, ...losses.map(l => [l.job, l] as const)]),
    ...(message.down === undefined || message.down === null
      ? {}
      : { down: message.down, daemon: message.daemon ?? null })
  };
}

/** More jobs, for instance a page of older ones. */
export function withJobs(
  jobs: ReadonlyMap<number, JobRecord>,
  more: readonly JobRecord[],
  forgotten: readonly number[] = []
): ReadonlyMap<number, JobRecord> {
  const next = new Map(jobs);
  for (const job of more) {
    next.set(job.id, job);
  }
  for (const id of forgotten) {
    next.delete(id);
  }
  return next;
}

/** Is this the job that a saved card speaks of? Ids start anew where the queue's home is another. */
export function isSameJob(
  saved: { id: number; submitted_at?: string | null },
  live: JobRecord | undefined
): live is JobRecord {
  return (
    live !== undefined &&
    live.id === saved.id &&
    (!saved.submitted_at ||
      !live.submitted_at ||
      Date.parse(saved.submitted_at) === Date.parse(live.submitted_at))
  );
}

/** Records in words for people. Pure: the translator is an argument. */

import type { GpuRecord, JobRecord, LossRecord } from '../api/schema';
import { hasEnded, isHolding } from './states';
import { tidy } from './text';

/** The part of Lab's translation bundle that is used. */
export interface ITexts {
  __(text: string, ...values: (string | number)[]): string;
  _n(
    one: string,
    many: string,
    count: number,
    ...values: (string | number)[]
  ): string;
}

/** Texts as they are written here. */
export const ENGLISH: ITexts = {
  __: (text, ...values) => fill(text, values),
  _n: (one, many, count, ...values) =>
    fill(count === 1 ? one : many, [count, ...values])
};

function fill(text: string, values: readonly (string | number)[]): string {
  return text.replace(/%(\d)/g, (whole, at: string) =>
    String(values[Number(at) - 1] ?? whole)
  );
}

/** 0:41, 4:12, 3:31:10, 2 d 4:00:00. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const days = Math.floor(whole / 86_400);
  const hours = Math.floor((whole % 86_400) / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const two = (value: number): string => String(value).padStart(2, '0');
  const rest =
    hours > 0 || days > 0
      ? `${hours}:${two(minutes)}:${two(whole % 60)}`
      : `${minutes}:${two(whole % 60)}`;
  return days > 0 ? `${days} d ${rest}` : rest;
}

/** 2 h, 30 min, 1 h 30 min, 90 s. */
export function limit(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60 || whole % 60 !== 0) {
    return whole < 600 ? `${whole} s` : duration(whole);
  }
  const hours = Math.floor(whole / 3600);
  const minutes = (whole % 3600) / 60;
  return [hours > 0 ? `${hours} h` : '', minutes > 0 ? `${minutes} min` : '']
    .filter(Boolean)
    .join(' ');
}

/** 512 B, 3.1 kB, 48.9 GB; powers of 1000. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let at = 0;
  while (Math.abs(value) >= 1000 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${at === 0 ? value.toFixed(0) : value.toFixed(1)} ${units[at] ?? ''}`;
}

/** 1st, 2nd, 3rd, 11th. */
export function ordinal(count: number): string {
  const tens = count % 100;
  const ending =
    tens >= 11 && tens <= 13
      ? 'th'
      : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th');
  return `${count}${ending}`;
}

/** 14:05 today, Tue 14:05 within six days, else 2026-12-03 14:05. */
export function clock(iso: string, now: Date): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) {
    return iso;
  }
  const two = (value: number): string => String(value).padStart(2, '0');
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (at.toDateString() === now.toDateString()) {
    return time;
  }
  if (Math.abs(at.getTime() - now.getTime()) < 6 * 86_400_000) {
    return `${at.toLocaleDateString(undefined, { weekday: 'short' })} ${time}`;
  }
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** Four digits that matter. */
export function figure(value: unknown): string {
  if (typeof value !== 'number') {
    return tidy(String(value), 24);
  }
  if (!Number.isFinite(value)) {
    return String(value);
  }
  return Number.isInteger(value)
    ? String(value)
    : String(Number(value.toPrecision(4)));
}

/** How long it ran or has been running, in seconds; null before it started. */
export function elapsed(job: JobRecord, now: Date): number | null {
  if (job.started_at === null) {
    return job.ran_s;
  }
  if (job.ended_at !== null) {
    return job.ran_s;
  }
  return isHolding(job)
    ? (now.getTime() - Date.parse(job.started_at)) / 1000
    : null;
}

/** The state in one or two words. */
export function stateWord(
  job: { state: string; position: number | null },
  texts: ITexts
): string {
  switch (job.state) {
    case 'pending':
      return job.position === null
        ? texts.__('waiting')
        : texts.__('waiting, %1', ordinal(job.position));
    case 'held':
      return texts.__('held');
    case 'starting':
      return texts.__('starting');
    case 'running':
      return texts.__('running');
    case 'stopping':
      return texts.__('stopping');
    case 'suspended':
      return texts.__('suspended');
    case 'succeeded':
      return texts.__('succeeded');
    case 'failed':
      return texts.__('failed');
    default:
      return texts.__('cancelled');
  }
}

/** What stands at the right of a row: `12:04 of 2 h`, `1st · ~14:05`, `4:12`. */
export function timing(job: JobRecord, now: Date, texts: ITexts): string {
  const ran = elapsed(job, now);
  if (isHolding(job)) {
    const of = job.request.time_limit_s;
    const said = ran === null ? '' : duration(ran);
    return of === null
      ? said
      : texts.__('%1 of %2', said === '' ? '0:00' : said, limit(of));
  }
  if (hasEnded(job)) {
    return ran === null ? '' : duration(ran);
  }
  const place = job.position === null ? '' : ordinal(job.position);
  const start =
    job.expected_start_at === null
      ? ''
      : `~${clock(job.expected_start_at, now)}`;
  return [place, start].filter(Boolean).join(' · ');
}

/** The sentence under a row's name. */
export function story(
  job: JobRecord,
  loss: LossRecord | undefined,
  texts: ITexts
): string {
  const parts: string[] = [];
  if (isHolding(job)) {
    parts.push(where(job));
  } else if (!hasEnded(job) || job.state !== 'succeeded') {
    parts.push(tidyOrNothing(job.why));
  }
  parts.push(lossWords(loss, texts));
  if (job.state === 'succeeded') {
    parts.push(where(job));
  }
  if (!parts.some(Boolean)) {
    parts.push(requested(job, texts));
  }
  return parts.filter(Boolean).join(' · ');
}

const tidyOrNothing = (text: string): string =>
  text === '' ? '' : tidy(text, 400);

/** GPU 0; GPUs 1, 2 on node-b. */
export function where(job: JobRecord): string {
  const nodes = [...new Set(job.nodes)];
  const on = nodes.length > 1 ? ` on ${nodes.join(', ')}` : '';
  return job.gpus.length === 0
    ? ''
    : job.gpus.map(label => tidy(label, 40)).join(', ') + on;
}

/** 2 GPUs, 24.0 GB each, at most 2 h. */
export function requested(job: JobRecord, texts: ITexts): string {
  const asked = job.request;
  return [
    texts._n('%1 GPU', '%1 GPUs', asked.gpus),
    asked.gpu_memory_bytes === null ? '' : size(asked.gpu_memory_bytes),
    asked.gpu_type === null ? '' : tidy(asked.gpu_type, 40),
    asked.time_limit_s === null
      ? ''
      : texts.__('at most %1', limit(asked.time_limit_s))
  ]
    .filter(Boolean)
    .join(', ');
}

/** epoch 7 · loss 0.412; or what is wrong with it. */
export function lossWords(loss: LossRecord | undefined, texts: ITexts): string {
  if (loss === undefined) {
    return '';
  }
  const name = tidy(loss.name, 24);
  const epoch =
    loss.epoch === null ? '' : texts.__('epoch %1', figure(loss.epoch));
  const said =
    loss.value === null
      ? `${name} ${loss.mark}`
      : `${name} ${figure(loss.value)}`;
  return [epoch, said].filter(Boolean).join(' · ');
}

/** What stands at the right of a GPU's name: 97 %, free, drained, busy, n/a. */
export function gpuWord(gpu: GpuRecord, texts: ITexts): string {
  if (gpu.drained !== '') {
    return texts.__('drained');
  }
  if (
    gpu.utilization_percent !== null &&
    (gpu.jobs.length > 0 || gpu.foreign.length > 0)
  ) {
    return `${gpu.utilization_percent.toFixed(0)} %`;
  }
  if (gpu.jobs.length > 0 || gpu.foreign.length > 0) {
    return texts.__('busy');
  }
  return texts.__('free');
}

/** Who has the GPU: `you · resnet`, `user2 · bert`, `2 jobs share`, `outside · PID 812, user ann`. */
export function holder(
  gpu: GpuRecord,
  jobs: ReadonlyMap<number, JobRecord>,
  me: string,
  texts: ITexts
): string {
  if (gpu.drained !== '') {
    return tidy(gpu.drained);
  }
  if (gpu.jobs.length > 1) {
    return texts.__('%1 jobs share', gpu.jobs.length);
  }
  const first = gpu.jobs[0];
  if (first !== undefined) {
    const job = jobs.get(first);
    if (job === undefined) {
      return texts.__('job %1', first);
    }
    const who = job.user === me ? texts.__('you') : tidy(job.user, 40);
    return `${who} · ${tidy(job.name, 60)}`;
  }
  const outside = gpu.foreign[0];
  return outside === undefined ? '' : texts.__('outside · %1', tidy(outside));
}

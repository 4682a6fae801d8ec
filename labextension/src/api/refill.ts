/** Puts back the defaults that records leave out on the way. Pure. */

import {
  GPU_RECORD_DEFAULTS,
  type GpuRecord,
  type GpuRow,
  JOB_RECORD_DEFAULTS,
  type JobRecord,
  type JobRow
} from './schema';

export function jobOf(row: JobRow): JobRecord {
  return { ...JOB_RECORD_DEFAULTS, ...row } as JobRecord;
}

export function gpuOf(row: GpuRow): GpuRecord {
  return { ...GPU_RECORD_DEFAULTS, ...row } as GpuRecord;
}

/** Records for tests. */

import {
  type GpuRecord,
  GPU_RECORD_DEFAULTS,
  type JobRecord,
  JOB_RECORD_DEFAULTS
} from '../api/schema';

export const aJob = (over: Partial<JobRecord> = {}): JobRecord => ({
  ...JOB_RECORD_DEFAULTS,
  id: 1,
  user: 'ann',
  name: 'resnet',
  state: 'pending',
  submitted_at: '2026-11-30T10:00:00.000Z',
  ...over
});

export const aGpu = (over: Partial<GpuRecord> = {}): GpuRecord => ({
  ...GPU_RECORD_DEFAULTS,
  id: 'GPU-0',
  node: 'a',
  index: 0,
  label: 'GPU 0',
  name: 'H200',
  kind: 'gpu',
  ...over
});

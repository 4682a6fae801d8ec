import type { Change, Refresh } from '../../api/schema';
import { fold, isSameJob, NOTHING } from '../../model/fold';
import { aJob } from '../records';

const refresh: Refresh = {
  type: 'refresh',
  epoch: 'e',
  seq: 3,
  daemon: null,
  down: '',
  may_start: true,
  me: 'ann',
  jobs: [{ id: 1, user: 'ann', name: 'a', state: 'running' }],
  gpus: [
    { id: 'G', node: 'n', index: 0, label: 'GPU 0', name: 'H200', kind: 'gpu' }
  ],
  losses: [],
  older: 7
};

const change = (over: Partial<Change>): Change => ({
  type: 'change',
  seq: 4,
  since: 3,
  ...over
});

describe('fold', () => {
  it('puts back the defaults that were left out on the way', () => {
    const view = fold(NOTHING, refresh);
    expect(view.jobs.get(1)?.request.gpus).toBe(1);
    expect(view.gpus[0]?.jobs).toEqual([]);
    expect(view.older).toBe(7);
  });

  it('replaces changed jobs, forgets forgotten ones and keeps the rest', () => {
    const view = fold(
      fold(NOTHING, refresh),
      change({ jobs: [{ id: 2, user: 'bob', name: 'b', state: 'pending' }] })
    );
    expect([...view.jobs.keys()]).toEqual([1, 2]);
    const after = fold(view, change({ forgotten: [1] }));
    expect([...after.jobs.keys()]).toEqual([2]);
    expect([...view.jobs.keys()]).toEqual([1, 2]);
  });

  it('leaves the jobs untouched by a reading of the GPUs', () => {
    const view = fold(NOTHING, refresh);
    expect(fold(view, change({ gpus: [] })).jobs).toBe(view.jobs);
  });

  it('keeps what was known while the daemon is away, and says so', () => {
    const view = fold(
      fold(NOTHING, refresh),
      change({ down: 'The GPU queue is not running.' })
    );
    expect(view.down).toBe('The GPU queue is not running.');
    expect(view.jobs.size).toBe(1);
  });
});

describe('isSameJob', () => {
  it('tells a job from another one with the same id', () => {
    const saved = { id: 1, submitted_at: '2026-11-30T10:00:00.000Z' };
    expect(isSameJob(saved, aJob())).toBe(true);
    expect(
      isSameJob(saved, aJob({ submitted_at: '2026-11-29T10:00:00.000Z' }))
    ).toBe(false);
    expect(isSameJob(saved, undefined)).toBe(false);
  });
});

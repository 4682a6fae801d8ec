import * as format from '../../model/format';
import { tidy } from '../../model/text';
import { aGpu, aJob } from '../records';

const now = new Date('2026-11-30T12:00:00');
const T = format.ENGLISH;

describe('durations, sizes and places', () => {
  it.each([
    [0, '0:00'],
    [41, '0:41'],
    [252, '4:12'],
    [12_670, '3:31:10'],
    [187_200, '2 d 4:00:00']
  ])('%d seconds are %s', (seconds, words) => {
    expect(format.duration(seconds)).toBe(words);
  });

  it.each([
    [7200, '2 h'],
    [1800, '30 min'],
    [5400, '1 h 30 min'],
    [90, '90 s']
  ])('a limit of %d seconds is %s', (seconds, words) => {
    expect(format.limit(seconds)).toBe(words);
  });

  it('counts as people do', () => {
    expect([1, 2, 3, 4, 11, 12, 21, 112].map(format.ordinal)).toEqual([
      '1st',
      '2nd',
      '3rd',
      '4th',
      '11th',
      '12th',
      '21st',
      '112th'
    ]);
  });

  it('says the day only where it is not today', () => {
    expect(format.clock('2026-11-30T14:05:00', now)).toBe('14:05');
    expect(format.clock('2026-12-20T14:05:00', now)).toBe('2026-12-20 14:05');
  });
});

describe('a row', () => {
  it('of a running job says how long of how long', () => {
    const job = aJob({
      state: 'running',
      started_at: new Date(now.getTime() - 724_000).toISOString(),
      request: { ...aJob().request, time_limit_s: 7200 }
    });
    expect(format.timing(job, now, T)).toBe('12:04 of 2 h');
  });

  it('of a waiting job says its place and when it should start', () => {
    const job = aJob({ position: 1, expected_start_at: '2026-11-30T14:05:00' });
    expect(format.timing(job, now, T)).toBe('1st · ~14:05');
  });

  it('calls out a loss that is no number', () => {
    const loss = {
      job: 1,
      name: 'loss',
      value: null,
      step: 3,
      epoch: null,
      spark: [],
      mark: 'NaN since step 3'
    };
    expect(format.lossWords(loss, T)).toBe('loss NaN since step 3');
  });
});

describe('a GPU', () => {
  it('without readings is busy or free, never 0 %', () => {
    expect(format.gpuWord(aGpu(), T)).toBe('free');
    expect(format.gpuWord(aGpu({ jobs: [1] }), T)).toBe('busy');
    expect(
      format.gpuWord(aGpu({ jobs: [1], utilization_percent: 97.2 }), T)
    ).toBe('97 %');
    expect(format.gpuWord(aGpu({ drained: 'ECC errors' }), T)).toBe('drained');
  });

  it('says who has it', () => {
    const jobs = new Map([[1, aJob({ state: 'running' })]]);
    expect(format.holder(aGpu({ jobs: [1] }), jobs, 'ann', T)).toBe(
      'you · resnet'
    );
    expect(format.holder(aGpu({ jobs: [1] }), jobs, 'bob', T)).toBe(
      'ann · resnet'
    );
    expect(format.holder(aGpu({ jobs: [1, 2] }), jobs, 'bob', T)).toBe(
      '2 jobs share'
    );
    expect(
      format.holder(aGpu({ foreign: ['PID 812, user cy'] }), jobs, 'bob', T)
    ).toBe('outside · PID 812, user cy');
  });
});

describe('tidy', () => {
  it('takes out what would turn or hide its neighbours', () => {
    expect(tidy('a\u202eb\u200bc\nd')).toBe('a b c d');
    expect(tidy('   ')).toBe('(no name)');
    expect(tidy('A'.repeat(4000))).toHaveLength(200);
  });
});

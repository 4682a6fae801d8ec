import { rows, windowOf } from '../../model/list';
import { aJob } from '../records';

const filter = {
  text: '',
  isMineOnly: false,
  me: 'ann',
  folded: new Set<never>()
};
const keys = (found: ReturnType<typeof rows>): string[] =>
  found.map(row => row.key);

describe('rows', () => {
  it('are running, waiting in their order, held, ended with the newest first', () => {
    const jobs = [
      aJob({ id: 1, state: 'succeeded', ended_at: '2026-11-30T10:00:00Z' }),
      aJob({ id: 2, state: 'failed', ended_at: '2026-11-30T11:00:00Z' }),
      aJob({ id: 3, position: 2 }),
      aJob({ id: 4, position: 1 }),
      aJob({ id: 5, state: 'held' }),
      aJob({ id: 6, state: 'running' })
    ];
    expect(keys(rows(jobs, filter))).toEqual([
      'running',
      '6',
      'waiting',
      '4',
      '3',
      'held',
      '5',
      'ended',
      '2',
      '1'
    ]);
  });

  it('are found by name, user, state and number, all words at once', () => {
    const jobs = [
      aJob({ id: 1 }),
      aJob({ id: 2, user: 'bob', name: 'bert', state: 'running' })
    ];
    expect(keys(rows(jobs, { ...filter, text: 'BOB run' }))).toEqual([
      'running',
      '2'
    ]);
    expect(keys(rows(jobs, { ...filter, text: 'bob resnet' }))).toEqual([]);
  });

  it('leave out other people, also from an admin', () => {
    const jobs = [aJob({ id: 1 }), aJob({ id: 2, user: 'bob', mine: true })];
    expect(keys(rows(jobs, { ...filter, isMineOnly: true }))).toEqual([
      'waiting',
      '1'
    ]);
  });

  it('keep the head of a folded part', () => {
    const found = rows([aJob()], {
      ...filter,
      folded: new Set(['waiting'] as const)
    });
    expect(found).toEqual([
      {
        kind: 'head',
        key: 'waiting',
        section: 'waiting',
        count: 1,
        isFolded: true
      }
    ]);
  });
});

describe('windowOf', () => {
  it('draws what is in sight and a few more', () => {
    const heights = Array.from({ length: 5000 }, () => 50);
    expect(windowOf(heights, 50_000, 500, 2)).toEqual({
      start: 998,
      end: 1012,
      above: 49_900,
      total: 250_000
    });
  });

  it('draws everything that fits', () => {
    expect(windowOf([28, 50, 50], 0, 500)).toEqual({
      start: 0,
      end: 3,
      above: 0,
      total: 128
    });
  });

  it('draws the end when it is scrolled past it', () => {
    expect(windowOf([50, 50], 9999, 100, 1)).toMatchObject({
      start: 1,
      end: 2
    });
  });
});

import { JOB_STATES } from '../../api/schema';
import { isPossible, neighbour, sectionOf } from '../../model/states';
import { aJob } from '../records';

describe('states', () => {
  it('all have a place in the list', () => {
    expect(JOB_STATES.map(state => sectionOf(aJob({ state })))).not.toContain(
      undefined
    );
  });

  it('offer nothing for the jobs of others', () => {
    expect(isPossible('cancel', aJob({ mine: false }))).toBe(false);
    expect(isPossible('cancel', aJob())).toBe(true);
  });

  it('offer the front to whoever waits and is not there yet', () => {
    const at = (position: number | null): boolean =>
      isPossible('front', aJob({ state: 'pending', position }));
    expect([at(1), at(2), at(null)]).toEqual([false, true, true]);
    expect(isPossible('front', aJob({ state: 'held' }))).toBe(false);
  });

  it('offer no class above the highest', () => {
    expect(isPossible('raise', aJob({ priority: 'high' }))).toBe(false);
    expect(neighbour('high', 1)).toBe('high');
    expect(neighbour('low', 1)).toBe('normal');
  });
});

import type * as nbformat from '@jupyterlab/nbformat';

import { JOB_MIME } from '../../ids';
import { cardOf } from '../../model/cells';

const card = (saved: Record<string, string | number>): nbformat.IOutput => ({
  output_type: 'display_data',
  data: { [JOB_MIME]: saved }
});

describe('the card of a cell', () => {
  it('is found behind what the cell printed itself', () => {
    const found = cardOf([
      { output_type: 'stream', name: 'stderr', text: 'w' },
      card({
        id: 3,
        state: 'running',
        attempt: 1,
        submitted_at: '2026-11-30T10:00:00Z'
      })
    ]);
    expect(found).toEqual({
      id: 3,
      state: 'running',
      attempt: 1,
      submitted_at: '2026-11-30T10:00:00Z',
      has_landed: false,
      index: 1
    });
  });

  it('is none where the data are of another make', () => {
    expect(cardOf([])).toBeNull();
    expect(cardOf([card({ id: '3' })])).toBeNull();
    expect(cardOf([{ output_type: 'error', ename: 'E' }])).toBeNull();
  });
});
